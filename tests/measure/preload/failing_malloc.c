// From when n was written, each allocation fails with a chance of n in a thousand million.

#include <errno.h>

#include "armed.h"

static int fails(void) {
  static __thread uint64_t state;
  const int64_t chance = *shim_number();
  if (chance <= 0) return 0;
  if (!state) state = (uintptr_t)&state ^ (uint64_t)getpid() << 32 ^ 0x9E3779B97F4A7C15ULL;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)(state % 1000000000ULL) < chance;
}

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static void* refuse(void) {
  errno = ENOMEM;
  return 0;
}

void* malloc(size_t size) {
  return fails() ? refuse() : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return fails() ? refuse() : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  return fails() ? refuse() : __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  return fails() ? refuse() : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails() ? refuse() : __libc_memalign(alignment, size);
}
