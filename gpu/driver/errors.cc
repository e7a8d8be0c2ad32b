#include "gpu/driver/errors.h"

namespace volvox::gpu {

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
      return {ErrorCode::kUnavailable, said + "; the GPU's context is lost: restart the server"};
  }
}

}  // namespace volvox::gpu
