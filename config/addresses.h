#pragma once

#include <string>
#include <vector>

namespace volvox {

// "a:1, b:2" → its parts.
std::vector<std::string> split_addresses(const std::string& text);

// "[::1]" → "::1", as the system's look-up wants it; other hosts as they are.
std::string without_brackets(const std::string& host);

}  // namespace volvox
