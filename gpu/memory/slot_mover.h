#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/error.h"
#include "gpu/driver/driver.h"
#include "gpu/memory/gpu_planes.h"

namespace volvox::gpu {

// States of single slots between a GPU and the host, for sessions that are put away and come back: through a
// pinned buffer on a stream of its own, beside the tasks. Any thread; one copy at a time.
class SlotMover {
 public:
  static Result<std::unique_ptr<SlotMover>> make(std::shared_ptr<Driver> driver);
  ~SlotMover();
  SlotMover(const SlotMover&) = delete;
  SlotMover& operator=(const SlotMover&) = delete;

  // Room for states of so many bytes, taken at load: pinning memory would stop the device.
  Status reserve(std::size_t size_bytes);
  // Return when the copy is made. The planes have reserved room. INVALID_ARGUMENT for a slot that is not
  // there or another size than its states have.
  Status read(const GpuPlanes& planes, std::uint32_t slot, std::span<std::byte> to);
  Status write(const GpuPlanes& planes, std::uint32_t slot, std::span<const std::byte> from);

 private:
  SlotMover(std::shared_ptr<Driver> driver, StreamId stream) : driver_(std::move(driver)), stream_(stream) {}

  const std::shared_ptr<Driver> driver_;
  const StreamId stream_;
  std::mutex mutex_;  // guards the stream and the buffer
  PinnedMemory buffer_;
};

}  // namespace volvox::gpu
