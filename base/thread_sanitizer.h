#pragma once

// VOLVOX_THREAD_SANITIZER: 1 in a build with ThreadSanitizer, by either compiler, else 0.
#define VOLVOX_THREAD_SANITIZER 0
#if defined(__SANITIZE_THREAD__)
#undef VOLVOX_THREAD_SANITIZER
#define VOLVOX_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef VOLVOX_THREAD_SANITIZER
#define VOLVOX_THREAD_SANITIZER 1
#endif
#endif
