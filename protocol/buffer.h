#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace volvox {

// Bytes that arrive from a socket lie anywhere in memory, while Cap'n Proto and vector instructions read
// whole words. A WireBuffer owns bytes at a known alignment: 64 for what is read in place, at least 8 for
// what is only sent, and for what came as a part of more. Move-only; a plain value without threads of its
// own. A shared_ptr<const WireBuffer> may be read by any thread.
class WireBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  WireBuffer() = default;
  WireBuffer(WireBuffer&& other) noexcept;
  WireBuffer& operator=(WireBuffer&& other) noexcept;

  // `size` bytes of zeros, 8-byte aligned (16 in practice): for building a message.
  static WireBuffer zeroed(std::size_t size);

  // A copy of `bytes`, 64-byte aligned: for reading in place.
  static WireBuffer copy_of(std::span<const std::byte> bytes);

  // The same, shared, in one piece of memory with what shares it.
  static std::shared_ptr<const WireBuffer> share_copy_of(std::span<const std::byte> bytes);

  // `size` bytes that the caller writes, all of them, before they are read; 64-byte aligned.
  static WireBuffer unwritten(std::size_t size);

  // Bytes of `whole` without a copy, at the alignment that they have there; they keep all of it, and nobody
  // may write them.
  static WireBuffer part_of(std::shared_ptr<const WireBuffer> whole, std::span<const std::byte> part);
  static std::shared_ptr<const WireBuffer> share_part_of(std::shared_ptr<const WireBuffer> whole,
                                                         std::span<const std::byte> part);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

  // Forgets the bytes beyond `size`, which must not exceed size().
  void truncate(std::size_t size) { size_ = size; }

  // What it is a part of; null for one that owns its bytes.
  const std::shared_ptr<const WireBuffer>& whole() const { return whole_; }
  // The memory that it keeps by itself, as the allocator counts it; of a part, or a shared copy, its own
  // bytes.
  std::size_t held_bytes() const;

  // Gives the memory up; the caller frees it with std::free. Not for a part.
  std::byte* release();

 private:
  struct Free {
    bool lent;  // false unless said
    void operator()(std::byte* memory) const {
      if (!lent) std::free(memory);
    }
  };

  WireBuffer(std::byte* data, std::size_t size) : data_(data), size_(size) {}

  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
  std::shared_ptr<const WireBuffer> whole_;
};

}  // namespace volvox
