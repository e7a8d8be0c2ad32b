#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace volvox {

// The tokens of a file's text: one a line, lines that are empty or begin with # left out. INVALID_ARGUMENT
// for one that is shorter than 16 characters or holds others than printable ASCII, and for none at all.
Result<std::vector<std::string>> parse_tokens(std::string_view text);
// The same from a file of at most 1 MiB, which nobody but its owner may read; errors name it.
Result<std::vector<std::string>> read_tokens(const std::string& file);

}  // namespace volvox
