#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace volvox::gpu {

// CUDA has hundreds of error numbers; a person needs to know what to do, a server whether to go on. Numbers
// are those of cudaError_t, written down here so that this compiles, and is tested, without CUDA.
enum CudaError : int {
  kSuccess = 0,
  kMemoryAllocation = 2,
  kInitialization = 3,
  kInsufficientDriver = 35,
  kStubLibrary = 34,
  kDevicesUnavailable = 46,
  kNoDevice = 100,
  kNoKernelImage = 209,
  kEccUncorrectable = 214,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kNotReady = 600,
  kCaptureUnsupported = 900,
};

// What a failed call means. `doing` ("copying inputs") and `text` (CUDA's own words) go into the message.
//   no device, no driver, driver too old       kUnavailable: what to install
//   memory                                     kOverloaded: what to lower
//   no code for this GPU                       kInvalidArgument: how to build
//   after which no call works any more         kUnavailable: the context is lost, start again
//   anything else                              kInternal: a call was refused, the GPU goes on
Error error_of(int code, std::string_view text, std::string_view doing);

// Whether every later call of this process fails with it, too.
bool loses_the_context(int code);

}  // namespace volvox::gpu
