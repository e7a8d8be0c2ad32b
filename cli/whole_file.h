#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

#include "base/error.h"

namespace volvox {

// Puts a file of this text and mode there, in the place of one that is there already: all of it or none, so
// that nobody reads half of it. Nobody else can have put there what it is written through, in folders that
// others may write to; and nobody but its owner may read it before its mode says so.
Status write_whole_file(const std::filesystem::path& file, const std::string& text, ::mode_t mode);

}  // namespace volvox
