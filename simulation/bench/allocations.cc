#include "simulation/bench/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/thread_sanitizer.h"

#if VOLVOX_THREAD_SANITIZER
// The runtime's own name, declared here because g++ comes without its header.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                                         void (*on_free)(const volatile void*));
#endif

namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

namespace volvox::bench {

std::uint64_t allocations() {
  return count.load(std::memory_order_relaxed);
}

}  // namespace volvox::bench

#if VOLVOX_THREAD_SANITIZER

// It has operators of its own, and tells of what they do.
namespace {

void on_malloc(const volatile void*, std::size_t) {
  count.fetch_add(1, std::memory_order_relaxed);
}
void on_free(const volatile void*) {}

[[maybe_unused]] const int hooks = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);

}  // namespace

#else

namespace {

// Null where there is no memory.
void* try_to_allocate(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate(std::size_t size) {
  if (void* p = try_to_allocate(size)) return p;
  throw std::bad_alloc();
}

void* allocate(std::size_t size, std::align_val_t align) {
  count.fetch_add(1, std::memory_order_relaxed);
  const auto alignment = static_cast<std::size_t>(align);
  if (void* p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new[](std::size_t size) {
  return allocate(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return try_to_allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return try_to_allocate(size);
}
void* operator new(std::size_t size, std::align_val_t align) {
  return allocate(size, align);
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return allocate(size, align);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

#endif
