#include "protocol/buffer.h"

#include <cstring>
#include <new>
#include <utility>

#include <malloc.h>

#include "base/with_room.h"

namespace volvox {
namespace {

std::byte* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

}  // namespace

WireBuffer::WireBuffer(WireBuffer&& other) noexcept
    : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)), whole_(std::move(other.whole_)) {}

WireBuffer& WireBuffer::operator=(WireBuffer&& other) noexcept {
  data_ = std::move(other.data_);
  size_ = std::exchange(other.size_, 0);
  whole_ = std::move(other.whole_);
  return *this;
}

WireBuffer WireBuffer::zeroed(std::size_t size) {
  if (size == 0) return {};
  return {checked(std::calloc(size, 1)), size};
}

WireBuffer WireBuffer::unwritten(std::size_t size) {
  if (size == 0) return {};
  const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  return {checked(std::aligned_alloc(kAlignment, rounded)), size};
}

WireBuffer WireBuffer::copy_of(std::span<const std::byte> bytes) {
  WireBuffer copy = unwritten(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

std::shared_ptr<const WireBuffer> WireBuffer::share_copy_of(std::span<const std::byte> bytes) {
  if (bytes.empty()) return std::make_shared<const WireBuffer>();
  std::size_t room = bytes.size() + kAlignment - 1;
  const auto copy = make_shared_with_room<WireBuffer>(room);
  void* behind = room_behind(copy.get());
  auto* aligned = static_cast<std::byte*>(std::align(kAlignment, bytes.size(), behind, room));
  std::memcpy(aligned, bytes.data(), bytes.size());
  copy->data_ = {aligned, Free{true}};
  copy->size_ = bytes.size();
  return copy;
}

WireBuffer WireBuffer::part_of(std::shared_ptr<const WireBuffer> whole, std::span<const std::byte> part) {
  WireBuffer buffer;
  // Nobody writes there: see the declaration.
  buffer.data_ = {const_cast<std::byte*>(part.data()), Free{true}};
  buffer.size_ = part.size();
  buffer.whole_ = std::move(whole);
  return buffer;
}

std::shared_ptr<const WireBuffer> WireBuffer::share_part_of(std::shared_ptr<const WireBuffer> whole,
                                                            std::span<const std::byte> part) {
  return std::make_shared<const WireBuffer>(part_of(std::move(whole), part));
}

std::size_t WireBuffer::held_bytes() const {
  return data_.get_deleter().lent ? size_ : malloc_usable_size(data_.get());
}

std::byte* WireBuffer::release() {
  size_ = 0;
  return data_.release();
}

}  // namespace volvox
