#pragma once

#include <string>

#include "base/error.h"

namespace volvox {

// Tells whoever started a process where it answers, an address a line: all of the file or none, so that
// nobody reads half of it.
Status write_port_file(const std::string& path, const std::string& lines);

}  // namespace volvox
