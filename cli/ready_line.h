#pragma once

#include <string>

namespace volvox {

// Prints a line on standard output, unless that is a pipe which is full because nobody reads it: a server
// must not wait there, where it would not hear that it is told to stop.
void say_ready(const std::string& line);

}  // namespace volvox
