#pragma once

#include <cstddef>
#include <memory>

#include "device/device.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// Kernels write results straight into memory of the host, so that a result is there when its task is done and
// needs no copy. That memory must be pinned, which is slow, so all of it is pinned at load. Full:
// OVERLOADED; larger than all of it: INVALID_ARGUMENT. Any thread may call; blocks may outlive the arena but
// not the driver.
class ResultArena {
 public:
  static Result<std::unique_ptr<ResultArena>> make(std::shared_ptr<Driver> driver, std::size_t size_bytes);

  Result<ResultBlock> take(std::size_t size_bytes);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace volvox::gpu
