#pragma once

#include "base/thread_sanitizer.h"

namespace volvox {

// Whether this build is watched by a sanitizer: slower by a factor, and with memory of the sanitizer's own.
#if VOLVOX_THREAD_SANITIZER || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)  // clang has no macro for it
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace volvox
