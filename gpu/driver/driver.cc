#include "gpu/driver/driver.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace volvox::gpu {

std::string_view name_of(Precision precision) {
  constexpr std::array<std::string_view, 4> kNames{"float32", "tf32", "bfloat16", "float16"};
  return kNames[static_cast<std::size_t>(precision)];
}

ElementType operand_type(Precision precision) {
  if (precision == Precision::kBfloat16) return ElementType::kBf16;
  if (precision == Precision::kFloat16) return ElementType::kF16;
  return ElementType::kF32;
}

Result<DeviceMemory> DeviceMemory::make(Driver& driver, std::size_t size_bytes) {
  auto address = driver.allocate(std::max<std::size_t>(size_bytes, 1));
  if (!address) return tl::unexpected(address.error());
  DeviceMemory made;
  made.driver_ = &driver;
  made.address_ = *address;
  made.size_bytes_ = size_bytes;
  return made;
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) driver_->release(address_);
}

Result<PinnedMemory> PinnedMemory::make(Driver& driver, std::size_t size_bytes) {
  auto memory = driver.allocate_host(std::max<std::size_t>(size_bytes, 1));
  if (!memory) return tl::unexpected(memory.error());
  PinnedMemory made;
  made.driver_ = &driver;
  made.memory_ = *memory;
  return made;
}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(memory_, other.memory_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (memory_.host != nullptr) driver_->release_host(memory_);
}

Result<LoadedStages> LoadedStages::make(Driver& driver, const StageSource& source) {
  auto module = driver.load(source);
  if (!module) return tl::unexpected(module.error());
  LoadedStages made;
  made.driver_ = &driver;
  made.module_ = *module;
  return made;
}

LoadedStages& LoadedStages::operator=(LoadedStages&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(module_, other.module_);
  return *this;
}

LoadedStages::~LoadedStages() {
  if (module_ != 0) driver_->unload(module_);
}

Status upload(Driver& driver, StreamId stream, DeviceAddress to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  constexpr std::size_t kChunk = std::size_t{32} << 20;
  auto buffer = PinnedMemory::make(driver, std::min(bytes.size(), kChunk));
  if (!buffer) return tl::unexpected(buffer.error());
  for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
    const std::size_t size = std::min(kChunk, bytes.size() - at);
    std::memcpy(buffer->host(), bytes.data() + at, size);
    if (Status ok = driver.copy(stream, to + at, buffer->address(), size); !ok) return ok;
    if (Status ok = driver.synchronise(stream); !ok) return ok;
  }
  return {};
}

}  // namespace volvox::gpu
