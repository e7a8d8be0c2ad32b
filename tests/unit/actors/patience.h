#pragma once

#include <chrono>

namespace volvox {

inline constexpr std::chrono::seconds kLongEnough{60};  // for what must happen; never reached

}  // namespace volvox
