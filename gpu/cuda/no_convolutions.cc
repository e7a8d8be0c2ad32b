#include "gpu/cuda/convolutions.h"

// A build without cuDNN's headers.
namespace volvox::gpu {

class Convolutions::Library {};

Convolutions::Convolutions() = default;
Convolutions::~Convolutions() = default;

Result<ConvolutionId> Convolutions::plan(const ConvolutionShape&) {
  return fail(ErrorCode::kUnavailable,
              "this build has no convolutions on a GPU; build it where cuDNN 9's headers are, or serve with "
              "--device cpu");
}

Status Convolutions::run(const ConvolutionCall&, cudaStream_t) {
  return invalid("a convolution was not planned");
}

}  // namespace volvox::gpu
