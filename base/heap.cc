#include "base/heap.h"

#include <cstdlib>  // which says whose library this is

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace volvox {

// The allocator learns from the largest buffer that it has ever freed: from then on it keeps such ones, and
// twice as much at the end of an arena. Told so by mallopt() it would learn no more, and map larger ones anew
// each time.
void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr std::size_t kBody = 1280U << 10U;
  void* volatile body = std::malloc(kBody);  // volatile: it has to happen
  std::free(body);
#endif
}

void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace volvox
