#include "gpu/memory/mirror.h"

#include <utility>

namespace volvox::gpu {

Result<Mirror> Mirror::make(Driver& driver, std::size_t size_bytes) {
  Mirror made;
  auto host = PinnedMemory::make(driver, size_bytes);
  if (!host) return tl::unexpected(host.error());
  auto device = DeviceMemory::make(driver, size_bytes);
  if (!device) return tl::unexpected(device.error());
  made.host_ = std::move(*host);
  made.device_ = std::move(*device);
  return made;
}

Status Mirror::flush(Driver& driver, StreamId stream) {
  if (Status ok = copy(driver, stream, batch_.ranges()); !ok) return ok;
  batch_.clear();
  return {};
}

Status Mirror::copy(Driver& driver, StreamId stream, std::span<const UploadBatch::Range> ranges) const {
  for (const UploadBatch::Range& range : ranges) {
    if (Status ok =
            driver.copy(stream, address(range.begin), host_.address() + range.begin, range.size_bytes);
        !ok)
      return ok;
  }
  return {};
}

}  // namespace volvox::gpu
