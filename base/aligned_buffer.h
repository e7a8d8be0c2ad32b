#pragma once

#include <cstddef>
#include <memory>

#include "base/error.h"
#include "base/large_memory.h"

namespace volvox {

// Zeroed memory, 64-byte aligned, on huge pages where it is large (allocate_large()).
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Fails with kOverloaded when the memory is not to be had.
  static Result<AlignedBuffer> make(std::size_t size_bytes);

  // Makes it so large, unless it is; then what was in it is lost. Empty when the memory is not to be had.
  Status grow(std::size_t size_bytes);

  std::byte* data() const { return data_.get(); }
  float* f32() const { return reinterpret_cast<float*>(data_.get()); }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_bytes_ = 0;
};

}  // namespace volvox
