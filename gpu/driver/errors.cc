#include "gpu/driver/errors.h"

namespace volvox::gpu {

// CUDA's documentation says of each of these that the process must be started again.
bool loses_the_context(int code) {
  constexpr int kFirstNvlink = 220, kLastNvlink = 224, kFirstContext = 709, kLastLaunch = 719, kUnknown = 999;
  return code == kEccUncorrectable || (code >= kFirstNvlink && code <= kLastNvlink) ||
         code == kIllegalAddress || code == kLaunchTimeout ||
         (code >= kFirstContext && code <= kLastLaunch) || code == kUnknown;
}

Error error_of(int code, std::string_view text, std::string_view doing) {
  const std::string said =
      "CUDA error " + std::to_string(code) + " while " + std::string(doing) + ": " + std::string(text);
  switch (code) {
    case kNoDevice:
    case kDevicesUnavailable:
      return {ErrorCode::kUnavailable, said + "; serve with --device cpu, or free or attach a GPU"};
    case kInsufficientDriver:
    case kStubLibrary:
    case kInitialization:
      return {ErrorCode::kUnavailable,
              said + "; install an NVIDIA driver of version 580 or newer, or serve with --device cpu"};
    case kMemoryAllocation:
      return {ErrorCode::kOverloaded,
              said + "; lower device.state_mib, device.input_mib or the models' max_batch"};
    case kNoKernelImage:
      return {ErrorCode::kInvalidArgument,
              said + "; this build has no code for this GPU: build with -DCMAKE_CUDA_ARCHITECTURES=native"};
    default:
      break;
  }
  if (loses_the_context(code))
    return {ErrorCode::kUnavailable, said + "; the GPU's context is lost: restart the server"};
  return {ErrorCode::kInternal, said +
                                    "; the GPU goes on, but this call is a mistake of this program or of a "
                                    "library that does not fit: serve with --device cpu"};
}

}  // namespace volvox::gpu
