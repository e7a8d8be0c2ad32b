#pragma once

#include <cstddef>
#include <span>

#include "gpu/driver/driver.h"
#include "gpu/memory/upload_batch.h"

namespace volvox::gpu {

// A buffer on the device with the same buffer in pinned memory of the host: written here, copied there in as
// few copies as its gaps allow. What is written stays untouched until the copy has been made: that is the
// owner's matter, and so are locks.
class Mirror {
 public:
  static Result<Mirror> make(Driver& driver, std::size_t size_bytes);

  std::byte* host(std::size_t offset) const { return host_.host() + offset; }
  DeviceAddress address(std::size_t offset) const { return device_.address() + offset; }
  // The host's own, as the device reads it: slower, and there at once.
  DeviceAddress mapped(std::size_t offset) const { return host_.address() + offset; }
  std::size_t size_bytes() const { return device_.size_bytes(); }

  // Says that a range has been written.
  void touch(std::size_t offset, std::size_t size_bytes, TimePoint now = {}) {
    batch_.add(offset, size_bytes, now);
  }
  const UploadBatch& batch() const { return batch_; }
  // Gives the copies to the stream.
  Status flush(Driver& driver, StreamId stream);
  // The same in two parts, for who must not be kept by the second: what has been written until now, into an
  // empty vector whose memory the batch goes on with; and its copies.
  void take(std::vector<UploadBatch::Range>& ranges) { batch_.take(ranges); }
  Status copy(Driver& driver, StreamId stream, std::span<const UploadBatch::Range> ranges) const;

 private:
  PinnedMemory host_;
  DeviceMemory device_;
  UploadBatch batch_;
};

}  // namespace volvox::gpu
