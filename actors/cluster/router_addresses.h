#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace volvox {

// All addresses that a router's name stands for, each "NUMBER:PORT", sorted. UNAVAILABLE says why there is
// none. Blocks while names are looked up.
Result<std::vector<std::string>> look_up_routers(const std::string& address);

}  // namespace volvox
