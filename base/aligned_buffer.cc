#include "base/aligned_buffer.h"

#include <cstring>
#include <string>
#include <utility>

namespace volvox {

void AlignedBuffer::Free::operator()(std::byte* p) const {
  free_large(p);
}

Result<AlignedBuffer> AlignedBuffer::make(std::size_t size_bytes) {
  AlignedBuffer buffer;
  buffer.data_.reset(allocate_large(size_bytes));
  if (!buffer.data_) {
    return fail(ErrorCode::kOverloaded, "cannot allocate " + std::to_string(size_bytes) +
                                            " bytes; load fewer models or lower the number of slots");
  }
  // Vectors may be read to the end of the last line.
  std::memset(buffer.data_.get(), 0, (size_bytes + 63) / 64 * 64);
  buffer.size_bytes_ = size_bytes;
  return buffer;
}

Status AlignedBuffer::grow(std::size_t size_bytes) {
  if (size_bytes_ >= size_bytes) return {};
  *this = {};  // what was there is not kept, and need not lie beside the larger one
  auto larger = make(size_bytes);
  if (!larger) return tl::unexpected(larger.error());
  *this = std::move(*larger);
  return {};
}

}  // namespace volvox
