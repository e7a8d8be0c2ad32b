#include "protocol/buffer.h"

#include <cstring>
#include <new>
#include <utility>

namespace volvox {
namespace {

std::byte* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

}  // namespace

WireBuffer::WireBuffer(WireBuffer&& other) noexcept
    : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}

WireBuffer& WireBuffer::operator=(WireBuffer&& other) noexcept {
  data_ = std::move(other.data_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

WireBuffer WireBuffer::zeroed(std::size_t size) {
  if (size == 0) return {};
  return {checked(std::calloc(size, 1)), size};
}

WireBuffer WireBuffer::copy_of(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const std::size_t rounded = (bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  WireBuffer copy(checked(std::aligned_alloc(kAlignment, rounded)), bytes.size());
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

std::shared_ptr<const WireBuffer> WireBuffer::share_copy_of(std::span<const std::byte> bytes) {
  return std::make_shared<const WireBuffer>(copy_of(bytes));
}

std::byte* WireBuffer::release() {
  size_ = 0;
  return data_.release();
}

}  // namespace volvox
