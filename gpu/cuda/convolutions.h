#pragma once

#include <memory>
#include <mutex>

#include <cuda_runtime_api.h>

#include "gpu/driver/driver.h"

namespace volvox::gpu {

// The convolutions of one device, by cuDNN, which is opened for the first of them: most models have none. Any
// thread may run them, one at a time; plan() is called at load. Only algorithms that give the same bits each
// time are taken.
class Convolutions {
 public:
  Convolutions();
  ~Convolutions();
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  Result<ConvolutionId> plan(const ConvolutionShape& shape);
  Status run(const ConvolutionCall& call, cudaStream_t stream);

 private:
  class Library;

  std::mutex mutex_;
  std::unique_ptr<Library> library_;  // null: not opened yet
};

}  // namespace volvox::gpu
