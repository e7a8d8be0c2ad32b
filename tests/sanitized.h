#pragma once

#include "base/thread_sanitizer.h"

// VOLVOX_SANITIZED: 1 in a build that a sanitizer watches: slower by a factor, and with memory of the
// sanitizer's own.
#if VOLVOX_THREAD_SANITIZER || defined(__SANITIZE_ADDRESS__)
#define VOLVOX_SANITIZED 1
#elif defined(__has_feature)  // clang has no macro for it
#define VOLVOX_SANITIZED __has_feature(address_sanitizer)
#else
#define VOLVOX_SANITIZED 0
#endif

namespace volvox {

inline constexpr bool kSanitized = VOLVOX_SANITIZED;

}  // namespace volvox
