#pragma once

#include <cstddef>
#include <new>

namespace volvox {

// Memory, 64-byte aligned; from 2 MiB on it is placed on huge pages where the system offers them: a pass over
// 32 MB of weights touches 16 page table entries instead of 8,192, and the small page of a row that is read
// here or there is hardly ever known to the processor. nullptr when it is not to be had. Any thread.
[[nodiscard]] std::byte* allocate_large(std::size_t size_bytes) noexcept;
void free_large(std::byte* memory) noexcept;

// What a container needs to lie in such memory. For long ones whose elements are read here and there.
template <class Value>
struct LargeAllocator {
  using value_type = Value;

  LargeAllocator() = default;
  template <class Other>
  LargeAllocator(const LargeAllocator<Other>&) noexcept {}  // NOLINT(google-explicit-constructor): asked for

  Value* allocate(std::size_t n) {
    static_assert(alignof(Value) <= 64);
    if (n > static_cast<std::size_t>(-1) / sizeof(Value)) throw std::bad_alloc();
    std::byte* const memory = allocate_large(n * sizeof(Value));
    if (memory == nullptr) throw std::bad_alloc();
    return reinterpret_cast<Value*>(memory);
  }
  void deallocate(Value* values, std::size_t) noexcept { free_large(reinterpret_cast<std::byte*>(values)); }

  template <class Other>
  bool operator==(const LargeAllocator<Other>&) const noexcept {
    return true;
  }
};

}  // namespace volvox
