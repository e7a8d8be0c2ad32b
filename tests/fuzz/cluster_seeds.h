#pragma once

#include <string>
#include <vector>

namespace volvox::fuzz {

// Good inputs for cluster_fuzz to begin with.
std::vector<std::string> cluster_seeds();

}  // namespace volvox::fuzz
