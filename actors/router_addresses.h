#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace volvox {

// "a:1, b:2" → its parts.
std::vector<std::string> split_addresses(const std::string& text);

// All addresses that a router's name stands for, each "NUMBER:PORT", sorted. UNAVAILABLE says why there is
// none. Blocks while names are looked up.
Result<std::vector<std::string>> look_up_routers(const std::string& address);

}  // namespace volvox
