#include "base/large_memory.h"

#include <algorithm>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace volvox {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

std::byte* allocate_large(std::size_t size_bytes) noexcept {
  const std::size_t alignment = size_bytes >= kHugePage ? kHugePage : kLine;
  const std::size_t rounded = (std::max<std::size_t>(size_bytes, 1) + alignment - 1) / alignment * alignment;
  if (rounded < size_bytes) return nullptr;
  void* const memory = std::aligned_alloc(alignment, rounded);
#if defined(__linux__)
  // Advice only: without huge pages everything works, a little slower.
  if (memory != nullptr && alignment == kHugePage) (void)madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(memory);
}

void free_large(std::byte* memory) noexcept {
  std::free(memory);
}

}  // namespace volvox
