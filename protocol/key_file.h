#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

#include "base/error.h"

namespace volvox {

// Writes a new file; an existing one is refused, and stays. UNAVAILABLE says why it cannot be written.
Status write_new_file(const std::filesystem::path& file, const std::string& text, ::mode_t mode);

}  // namespace volvox
