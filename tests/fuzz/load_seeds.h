#pragma once

#include <string>
#include <vector>

namespace volvox::fuzz {

// Good inputs for load_fuzz, one of each kind of message.
std::vector<std::string> load_seeds();

}  // namespace volvox::fuzz
