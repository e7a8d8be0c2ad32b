#pragma once

#include <string>
#include <utility>
#include <vector>

namespace volvox::fuzz {

// (fuzzer, good input) for sessions_fuzz, keys_fuzz, zap_fuzz, admin_fuzz, wave_fuzz and lattice_fuzz.
std::vector<std::pair<const char*, std::string>> small_seeds();

}  // namespace volvox::fuzz
