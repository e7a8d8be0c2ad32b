#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/error.h"
#include "protocol/buffer.h"
#include "protocol/limits.h"

namespace volvox {

// A header arrives at any address but is read by words, and is too small to be worth an allocation: this
// holds an 8-byte aligned copy on the stack, or on the heap when it is unusually long. Internal to the codec.
class AlignedHeader {
 public:
  explicit AlignedHeader(std::span<const std::byte> bytes) : size_(bytes.size()) {
    if (size_ > small_.size()) {
      large_ = WireBuffer::copy_of(bytes);
    } else if (size_ > 0) {
      std::memcpy(small_.data(), bytes.data(), size_);
    }
  }
  AlignedHeader(const AlignedHeader&) = delete;
  AlignedHeader& operator=(const AlignedHeader&) = delete;

  std::span<const std::byte> bytes() const {
    return large_.empty() ? std::span<const std::byte>(small_.data(), size_) : large_.bytes();
  }

 private:
  std::size_t size_;
  alignas(8) std::array<std::byte, 1024> small_;
  WireBuffer large_;
};

// Refuses a frame that is longer than its limit, before anything else is looked at.
Status check_frame_size(std::string_view what, std::size_t bytes, std::size_t limit);

// Refuses a protocol version that this build does not speak, naming both sides' versions.
Status check_version(std::uint16_t version, std::string_view peer);

// A newer server may know more errors than this client: what it means is in the text.
ErrorCode known_code(std::uint16_t number);

}  // namespace volvox
