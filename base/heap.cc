#include "base/heap.h"

#include <cstdlib>  // which says whose library this is

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace volvox {

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kMost = 32 << 20;  // that it allows, of a buffer that lies in an arena
  mallopt(M_MMAP_THRESHOLD, kMost);
  mallopt(M_TRIM_THRESHOLD, 4 * kMost);
#endif
}

void give_up_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_TRIM_THRESHOLD, 128 << 10);  // as it is where nobody sets it
#endif
}

void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace volvox
