#pragma once

#include <cstdint>
#include <string>

namespace volvox {

// Prints a line on standard output, unless that is a pipe which is full because nobody reads it: a server
// must not wait there, where it would not hear that it is told to stop.
void say_ready(const std::string& line);

// Where one of a process' HTTP listeners answers, by its setting and the port that it has; empty: it does
// not.
std::string http_address(const std::string& listen, std::uint16_t port);
// As a line shows an address: "-" for none.
std::string or_none(const std::string& address);

}  // namespace volvox
