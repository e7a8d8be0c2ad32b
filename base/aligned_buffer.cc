#include "base/aligned_buffer.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace volvox {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

void AlignedBuffer::Free::operator()(std::byte* p) const {
  std::free(p);
}

Result<AlignedBuffer> AlignedBuffer::make(std::size_t size_bytes) {
  const std::size_t alignment = size_bytes >= kHugePage ? kHugePage : kLine;
  const std::size_t rounded = round_up(size_bytes == 0 ? 1 : size_bytes, alignment);
  if (rounded < size_bytes) return fail(ErrorCode::kOverloaded, "memory size overflows");
  AlignedBuffer buffer;
  buffer.data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (!buffer.data_) {
    return fail(ErrorCode::kOverloaded, "cannot allocate " + std::to_string(rounded) +
                                            " bytes; load fewer models or lower the number of slots");
  }
#if defined(__linux__)
  // Advice only: without huge pages everything works, a little slower.
  if (alignment == kHugePage) (void)madvise(buffer.data_.get(), rounded, MADV_HUGEPAGE);
#endif
  std::memset(buffer.data_.get(), 0, rounded);
  buffer.size_bytes_ = size_bytes;
  return buffer;
}

Status AlignedBuffer::grow(std::size_t size_bytes) {
  if (size_bytes_ >= size_bytes) return {};
  auto larger = make(size_bytes);
  if (!larger) return tl::unexpected(larger.error());
  *this = std::move(*larger);
  return {};
}

}  // namespace volvox
