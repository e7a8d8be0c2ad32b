#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define VOLVOX_LEAK_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VOLVOX_LEAK_SANITIZER 1
#endif
#endif
#ifdef VOLVOX_LEAK_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace volvox {

// While it lives, what this thread allocates, and all that is reachable from it, counts as used until the
// process ends: for libraries that do not give everything back at exit. Nothing without AddressSanitizer.
class NoLeakCheck {
 public:
  NoLeakCheck() { set(false); }
  ~NoLeakCheck() { set(true); }
  NoLeakCheck(const NoLeakCheck&) = delete;
  NoLeakCheck& operator=(const NoLeakCheck&) = delete;

 private:
  static void set([[maybe_unused]] bool checks) {
#ifdef VOLVOX_LEAK_SANITIZER
    checks ? __lsan_enable() : __lsan_disable();
#endif
  }
};

}  // namespace volvox
