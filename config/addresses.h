#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace volvox {

// "a:1, b:2" → its parts.
std::vector<std::string> split_addresses(const std::string& text);

// "[::1]" → "::1", as the system's look-up wants it; other hosts as they are.
std::string without_brackets(const std::string& host);

// An address in numbers, "10.0.0.7" or "[::1]", and not a name.
bool is_numeric_host(std::string_view host);

// Whether only this machine reaches it: 127.0.0.0/8, [::1], or the name localhost. Other names may stand for
// anything, whatever they begin with.
bool is_loopback(std::string_view host);

}  // namespace volvox
