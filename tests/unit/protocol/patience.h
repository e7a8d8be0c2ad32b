#pragma once

#include <chrono>

#include "base/time.h"

namespace volvox {

// How long a test waits for what must come, however slow the machine is.
inline constexpr Duration kPatience = std::chrono::seconds(20);

}  // namespace volvox
