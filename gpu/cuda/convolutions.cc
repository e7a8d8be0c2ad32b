#include "gpu/cuda/convolutions.h"

#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

#include "gpu/cuda/shared_library.h"

namespace volvox::gpu {
namespace {

constexpr int kCandidates = 8;

int whole(std::int64_t extent) {
  return static_cast<int>(extent);
}

}  // namespace

// cuDNN's functions, its handle, and what was planned.
class Convolutions::Library {
 public:
  static Result<std::unique_ptr<Library>> open();
  ~Library();
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Result<ConvolutionId> plan(const ConvolutionShape& shape);
  Status run(const ConvolutionCall& call, cudaStream_t stream);

 private:
  struct Plan {
    ConvolutionShape shape;
    cudnnTensorDescriptor_t x = nullptr, out = nullptr;
    cudnnFilterDescriptor_t kernels = nullptr;
    cudnnConvolutionDescriptor_t convolution = nullptr;
    cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  };

  bool find_all(void* library);
  Status check(cudnnStatus_t status, const char* doing) const;
  Status describe(Plan& plan) const;
  Status choose(Plan& plan) const;
  void destroy(const Plan& plan) const;

  decltype(&cudnnCreate) create_ = nullptr;
  decltype(&cudnnDestroy) destroy_ = nullptr;
  decltype(&cudnnSetStream) set_stream_ = nullptr;
  decltype(&cudnnGetErrorString) error_string_ = nullptr;
  decltype(&cudnnCreateTensorDescriptor) tensor_create_ = nullptr;
  decltype(&cudnnSetTensor4dDescriptorEx) tensor_set_ = nullptr;
  decltype(&cudnnDestroyTensorDescriptor) tensor_destroy_ = nullptr;
  decltype(&cudnnCreateFilterDescriptor) filter_create_ = nullptr;
  decltype(&cudnnSetFilter4dDescriptor) filter_set_ = nullptr;
  decltype(&cudnnDestroyFilterDescriptor) filter_destroy_ = nullptr;
  decltype(&cudnnCreateConvolutionDescriptor) convolution_create_ = nullptr;
  decltype(&cudnnSetConvolution2dDescriptor) convolution_set_ = nullptr;
  decltype(&cudnnSetConvolutionMathType) math_set_ = nullptr;
  decltype(&cudnnDestroyConvolutionDescriptor) convolution_destroy_ = nullptr;
  decltype(&cudnnGetConvolutionForwardAlgorithm_v7) candidates_ = nullptr;
  decltype(&cudnnConvolutionForward) forward_ = nullptr;

  cudnnHandle_t handle_ = nullptr;
  std::vector<Plan> plans_;
};

bool Convolutions::Library::find_all(void* library) {
  return find(library, "cudnnCreate", create_) && find(library, "cudnnDestroy", destroy_) &&
         find(library, "cudnnSetStream", set_stream_) &&
         find(library, "cudnnGetErrorString", error_string_) &&
         find(library, "cudnnCreateTensorDescriptor", tensor_create_) &&
         find(library, "cudnnSetTensor4dDescriptorEx", tensor_set_) &&
         find(library, "cudnnDestroyTensorDescriptor", tensor_destroy_) &&
         find(library, "cudnnCreateFilterDescriptor", filter_create_) &&
         find(library, "cudnnSetFilter4dDescriptor", filter_set_) &&
         find(library, "cudnnDestroyFilterDescriptor", filter_destroy_) &&
         find(library, "cudnnCreateConvolutionDescriptor", convolution_create_) &&
         find(library, "cudnnSetConvolution2dDescriptor", convolution_set_) &&
         find(library, "cudnnSetConvolutionMathType", math_set_) &&
         find(library, "cudnnDestroyConvolutionDescriptor", convolution_destroy_) &&
         find(library, "cudnnGetConvolutionForwardAlgorithm_v7", candidates_) &&
         find(library, "cudnnConvolutionForward", forward_);
}

Result<std::unique_ptr<Convolutions::Library>> Convolutions::Library::open() {
  auto made = std::make_unique<Library>();
  void* library = open_library({"libcudnn.so.9", VOLVOX_CUDA_LIBRARIES "/libcudnn.so.9"});
  if (library == nullptr || !made->find_all(library)) {
    return fail(ErrorCode::kUnavailable,
                "libcudnn.so.9 cannot be opened, and a cell has a convolution; install cuDNN 9, or put its "
                "folder into "
                "LD_LIBRARY_PATH");
  }
  if (Status ok = made->check(made->create_(&made->handle_), "starting"); !ok)
    return tl::unexpected(ok.error());
  return made;
}

Convolutions::Library::~Library() {
  for (const Plan& plan : plans_) destroy(plan);
  if (handle_ != nullptr) destroy_(handle_);
}

void Convolutions::Library::destroy(const Plan& plan) const {
  if (plan.convolution != nullptr) convolution_destroy_(plan.convolution);
  if (plan.kernels != nullptr) filter_destroy_(plan.kernels);
  for (cudnnTensorDescriptor_t tensor : {plan.x, plan.out}) {
    if (tensor != nullptr) tensor_destroy_(tensor);
  }
}

Status Convolutions::Library::check(cudnnStatus_t status, const char* doing) const {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return fail(ErrorCode::kUnavailable,
              std::string("cuDNN: ") + error_string_(status) + " while " + doing +
                  " a convolution; check that its version matches the driver, or serve with "
                  "--device cpu");
}

// Rows are the images of a batch, with room between them.
Status Convolutions::Library::describe(Plan& plan) const {
  const ConvolutionShape& shape = plan.shape;
  const Convolution& c = shape.convolution;
  const int rows = whole(shape.rows), kernels = whole(c.kernels), channels = whole(c.channels);
  const int high = whole(c.height), wide = whole(c.width);
  const int out_high = whole(c.out_height()), out_wide = whole(c.out_width());
  // Anything but float32 may round factors to TF32; float32 must not.
  const cudnnMathType_t math = shape.precision == Precision::kFloat32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
  const auto at = [](const std::array<std::int64_t, 2>& pair, std::size_t i) { return whole(pair[i]); };
  for (const cudnnStatus_t status :
       {tensor_create_(&plan.x), tensor_create_(&plan.out), filter_create_(&plan.kernels),
        convolution_create_(&plan.convolution),
        tensor_set_(plan.x, CUDNN_DATA_FLOAT, rows, channels, high, wide, whole(shape.stride_x), high * wide,
                    wide, 1),
        tensor_set_(plan.out, CUDNN_DATA_FLOAT, rows, kernels, out_high, out_wide, whole(shape.stride_out),
                    out_high * out_wide, out_wide, 1),
        filter_set_(plan.kernels, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, kernels, channels,
                    whole(c.kernel_height), whole(c.kernel_width)),
        convolution_set_(plan.convolution, at(c.padding, 0), at(c.padding, 1), at(c.stride, 0),
                         at(c.stride, 1), 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        math_set_(plan.convolution, math)}) {
    if (Status ok = check(status, "describing"); !ok) return ok;
  }
  return {};
}

// The first that cuDNN proposes which adds in one order and fits the workspace. Where all numbers of rows
// must add alike it is the plainest, which works through each image by itself.
Status Convolutions::Library::choose(Plan& plan) const {
  if (plan.shape.reproducible) return {};
  cudnnConvolutionFwdAlgoPerf_t results[kCandidates];
  int found = 0;
  if (Status ok = check(candidates_(handle_, plan.x, plan.kernels, plan.convolution, plan.out, kCandidates,
                                    &found, results),
                        "choosing how to compute");
      !ok) {
    return ok;
  }
  for (int i = 0; i < found; ++i) {
    const bool fits = results[i].status == CUDNN_STATUS_SUCCESS && results[i].memory <= kWorkspaceBytes;
    if (!fits || results[i].determinism != CUDNN_DETERMINISTIC) continue;
    plan.algorithm = results[i].algo;
    return check(math_set_(plan.convolution, results[i].mathType), "describing");
  }
  return {};
}

Result<ConvolutionId> Convolutions::Library::plan(const ConvolutionShape& shape) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (plans_[i].shape == shape) return static_cast<ConvolutionId>(i + 1);
  }
  Plan plan;
  plan.shape = shape;
  Status status = describe(plan);
  if (status) status = choose(plan);
  if (!status) {
    destroy(plan);
    return tl::unexpected(status.error());
  }
  plans_.push_back(plan);
  return static_cast<ConvolutionId>(plans_.size());
}

Status Convolutions::Library::run(const ConvolutionCall& call, cudaStream_t stream) {
  if (call.convolution == 0 || call.convolution > plans_.size())
    return invalid("a convolution was not planned");
  const Plan& plan = plans_[call.convolution - 1];
  if (Status ok = check(set_stream_(handle_, stream), "running"); !ok) return ok;
  const float one = 1, zero = 0;
  return check(forward_(handle_, &one, plan.x, at<const void>(call.x), plan.kernels, at<const void>(call.w),
                        plan.convolution, plan.algorithm, at<void>(call.workspace), kWorkspaceBytes, &zero,
                        plan.out, at<void>(call.out)),
               "running");
}

Convolutions::Convolutions() = default;
Convolutions::~Convolutions() = default;

Result<ConvolutionId> Convolutions::plan(const ConvolutionShape& shape) {
  const std::lock_guard lock(mutex_);
  if (!library_) {
    auto opened = Library::open();
    if (!opened) return tl::unexpected(opened.error());
    library_ = std::move(*opened);
  }
  return library_->plan(shape);
}

Status Convolutions::run(const ConvolutionCall& call, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  return library_ ? library_->run(call, stream) : invalid("a convolution was not planned");
}

}  // namespace volvox::gpu
