#include "gpu/memory/slot_mover.h"

#include <cstring>
#include <string>
#include <utility>

namespace volvox::gpu {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{64} << 10;  // most models' states are smaller

Status check(const GpuPlanes& planes, std::uint32_t slot, std::size_t size_bytes) {
  if (slot >= planes.slots()) return invalid("there is no slot " + std::to_string(slot) + " in its pool");
  if (size_bytes != planes.packed_bytes()) {
    return invalid("a slot's states are " + std::to_string(planes.packed_bytes()) + " bytes, not " +
                   std::to_string(size_bytes));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<SlotMover>> SlotMover::make(std::shared_ptr<Driver> driver) {
  const auto stream = driver->make_stream();
  if (!stream) return tl::unexpected(stream.error());
  std::unique_ptr<SlotMover> made(new SlotMover(std::move(driver), *stream));
  if (Status ok = made->reserve(kLeastBytes); !ok) return tl::unexpected(ok.error());
  return made;
}

SlotMover::~SlotMover() {
  driver_->destroy_stream(stream_);
}

Status SlotMover::reserve(std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (size_bytes <= buffer_.size_bytes()) return {};
  auto buffer = PinnedMemory::make(*driver_, size_bytes);
  if (!buffer) return tl::unexpected(buffer.error());
  buffer_ = std::move(*buffer);
  return {};
}

Status SlotMover::read(const GpuPlanes& planes, std::uint32_t slot, std::span<std::byte> to) {
  if (Status ok = check(planes, slot, to.size()); !ok) return ok;
  const std::lock_guard lock(mutex_);
  if (Status ok = planes.save(*driver_, stream_, slot, buffer_.address()); !ok) return ok;
  if (Status ok = driver_->synchronise(stream_); !ok) return ok;
  if (!to.empty()) std::memcpy(to.data(), buffer_.host(), to.size());
  return {};
}

Status SlotMover::write(const GpuPlanes& planes, std::uint32_t slot, std::span<const std::byte> from) {
  if (Status ok = check(planes, slot, from.size()); !ok) return ok;
  const std::lock_guard lock(mutex_);
  if (!from.empty()) std::memcpy(buffer_.host(), from.data(), from.size());
  planes.add_shadows(buffer_.host());
  if (Status ok = planes.load(*driver_, stream_, slot, buffer_.address()); !ok) return ok;
  return driver_->synchronise(stream_);
}

}  // namespace volvox::gpu
