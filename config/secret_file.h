#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace volvox {

// The text of a file that only this process's user may know. INVALID_ARGUMENT, which names the file and says
// what to do, where it cannot be read, or where others than its owner may read or change it.
Result<std::string> read_secret_file(const std::filesystem::path& file);

}  // namespace volvox
