#include "gpu/cuda/blas.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/cuda/shared_library.h"
#include "gpu/driver/errors.h"

namespace volvox::gpu {
namespace {

constexpr int kCandidates = 8, kRepetitions = 10;
// Reproducible products take what is proposed for this many rows.
constexpr std::uint32_t kTypicalRows = 256;

tl::unexpected<Error> blas_error(cublasStatus_t status, const std::string& doing) {
  return fail(ErrorCode::kUnavailable,
              "cuBLASLt error " + std::to_string(static_cast<int>(status)) + " while " + doing +
                  "; check that the CUDA libraries match the driver, or serve with --device cpu");
}

cudaDataType_t data_type(Precision precision) {
  if (precision == Precision::kBfloat16) return CUDA_R_16BF;
  return precision == Precision::kFloat16 ? CUDA_R_16F : CUDA_R_32F;
}

bool find_all(void* library, BlasLibrary& made) {
  return find(library, "cublasLtCreate", made.create) && find(library, "cublasLtDestroy", made.destroy) &&
         find(library, "cublasLtMatmul", made.matmul) &&
         find(library, "cublasLtMatmulDescCreate", made.desc_create) &&
         find(library, "cublasLtMatmulDescDestroy", made.desc_destroy) &&
         find(library, "cublasLtMatmulDescSetAttribute", made.desc_set) &&
         find(library, "cublasLtMatrixLayoutCreate", made.layout_create) &&
         find(library, "cublasLtMatrixLayoutDestroy", made.layout_destroy) &&
         find(library, "cublasLtMatmulPreferenceCreate", made.preference_create) &&
         find(library, "cublasLtMatmulPreferenceDestroy", made.preference_destroy) &&
         find(library, "cublasLtMatmulPreferenceSetAttribute", made.preference_set) &&
         find(library, "cublasLtMatmulAlgoGetHeuristic", made.heuristic) &&
         find(library, "cublasLtMatmulAlgoConfigGetAttribute", made.config_get) &&
         find(library, "cublasLtMatmulAlgoCheck", made.check) &&
         find(library, "cublasLtGetVersion", made.version);
}

std::string text_of(const ProductShape& shape) {
  return std::to_string(shape.rows) + " rows, " + std::to_string(shape.outputs) + " by " +
         std::to_string(shape.width) + ", strides " + std::to_string(shape.stride_k) + " " +
         std::to_string(shape.stride_out) + ", " + std::string(name_of(shape.precision));
}

// cuBLASLt documents an algorithm's bytes as something to be stored and used again with the same version.
std::string hex_of(const cublasLtMatmulAlgo_t& algorithm) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : std::as_bytes(std::span(&algorithm, 1))) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

std::optional<cublasLtMatmulAlgo_t> algorithm_from(const std::string& hex) {
  cublasLtMatmulAlgo_t algorithm{};
  auto bytes = std::as_writable_bytes(std::span(&algorithm, 1));
  if (hex.size() != 2 * bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    const char* begin = hex.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) return std::nullopt;
    bytes[i] = std::byte(value);
  }
  return algorithm;
}

}  // namespace

Result<const BlasLibrary*> BlasLibrary::open() {
  static BlasLibrary made;
  static const bool found = [] {
    void* library = open_library({"libcublasLt.so.13", VOLVOX_CUDA_LIBRARIES "/libcublasLt.so.13"});
    return library != nullptr && find_all(library, made);
  }();
  if (found) return &made;
  return fail(ErrorCode::kUnavailable,
              "libcublasLt.so.13 cannot be opened; install CUDA 13's cuBLAS, or put its folder into "
              "LD_LIBRARY_PATH");
}

Result<std::unique_ptr<Products>> Products::make(std::shared_ptr<ChoiceCache> choices,
                                                 const std::string& kind) {
  auto library = BlasLibrary::open();
  if (!library) return tl::unexpected(library.error());
  std::unique_ptr<Products> made(new Products(**library, std::move(choices), kind));
  const cublasStatus_t status = made->library_.create(&made->handle_);
  if (status != CUBLAS_STATUS_SUCCESS) return blas_error(status, "starting");
  return made;
}

Products::~Products() {
  for (Plan& plan : plans_) destroy(plan);
  if (handle_ != nullptr) library_.destroy(handle_);
}

void Products::destroy(Plan& plan) const {
  for (cublasLtMatrixLayout_t layout : {plan.w, plan.x, plan.out}) {
    if (layout != nullptr) library_.layout_destroy(layout);
  }
  if (plan.desc != nullptr) library_.desc_destroy(plan.desc);
}

// Row-major out = x · wᵀ is column-major outᵀ = w · xᵀ, where w's columns are the model's rows.
Status Products::describe(Plan& plan, std::uint32_t rows) const {
  const ProductShape& shape = plan.shape;
  const cudaDataType_t type = data_type(shape.precision);
  const cublasComputeType_t compute =
      shape.precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasStatus_t status[] = {
      library_.desc_create(&plan.desc, compute, CUDA_R_32F),
      library_.desc_set(plan.desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
      library_.layout_create(&plan.w, type, shape.width, shape.outputs, shape.stride_k),
      library_.layout_create(&plan.x, type, shape.width, rows, shape.stride_k),
      library_.layout_create(&plan.out, CUDA_R_32F, shape.outputs, rows, shape.stride_out)};
  for (cublasStatus_t one : status) {
    if (one != CUBLAS_STATUS_SUCCESS) return blas_error(one, "describing a product");
  }
  return {};
}

Result<std::vector<cublasLtMatmulAlgo_t>> Products::candidates(const Plan& plan) const {
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t status = library_.preference_create(&preference);
  if (status != CUBLAS_STATUS_SUCCESS) return blas_error(status, "choosing an algorithm");
  const std::size_t workspace = kWorkspaceBytes;
  library_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  if (plan.shape.reproducible) {
    const std::uint32_t none = CUBLASLT_REDUCTION_SCHEME_NONE;
    library_.preference_set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &none, sizeof none);
  }
  cublasLtMatmulHeuristicResult_t results[kCandidates];
  int found = 0;
  status = library_.heuristic(handle_, plan.desc, plan.w, plan.x, plan.out, plan.out, preference, kCandidates,
                              results, &found);
  library_.preference_destroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0) return blas_error(status, "choosing an algorithm");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < found; ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(results[i].algo);
  }
  return algorithms;
}

bool Products::splits(const cublasLtMatmulAlgo_t& algorithm) const {
  std::int32_t parts = 1;
  std::size_t written = 0;
  library_.config_get(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written);
  return parts > 1;
}

Result<ProductId> Products::plan(const ProductShape& shape, const ProductCall& example, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (plans_[i].shape == shape) return static_cast<ProductId>(i + 1);
  }
  Plan plan;
  plan.shape = shape;
  Status status = describe(plan, shape.rows);
  if (status) status = shape.reproducible ? choose_reproducible(plan) : choose(plan, example, stream);
  if (!status) {
    destroy(plan);
    return tl::unexpected(status.error());
  }
  plans_.push_back(plan);
  return static_cast<ProductId>(plans_.size());
}

Status Products::choose(Plan& plan, const ProductCall& example, cudaStream_t stream) {
  if (!choices_) return choose_fastest(plan, example, stream);
  const std::string key = "product, " + kind_ + ", " + text_of(plan.shape);
  if (const auto known = choices_->find(key); known && runs(plan, *known)) return {};
  if (Status ok = choose_fastest(plan, example, stream); !ok) return ok;
  const cublasLtMatmulAlgo_t fastest = plan.algorithm;
  if (!runs(plan, choices_->keep(key, hex_of(fastest)))) plan.algorithm = fastest;
  return {};
}

// Takes the choice, if it is one that this library accepts for this product.
bool Products::runs(Plan& plan, const std::string& choice) const {
  const auto algorithm = algorithm_from(choice);
  if (!algorithm) return false;
  plan.algorithm = *algorithm;
  return accepted(plan);
}

bool Products::accepted(const Plan& plan) const {
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t status =
      library_.check(handle_, plan.desc, plan.w, plan.x, plan.out, plan.out, &plan.algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspaceBytes;
}

Status Products::choose_fastest(Plan& plan, const ProductCall& example, cudaStream_t stream) const {
  const auto algorithms = candidates(plan);
  if (!algorithms) return tl::unexpected(algorithms.error());
  double best = 1e30;
  cublasLtMatmulAlgo_t fastest{};
  for (const cublasLtMatmulAlgo_t& algorithm : *algorithms) {
    plan.algorithm = algorithm;
    const auto us = time_us(plan, example, stream);
    if (!us || *us >= best) continue;
    best = *us;
    fastest = algorithm;
  }
  if (best == 1e30)
    return fail(ErrorCode::kUnavailable, "no algorithm of cuBLASLt runs this product; see its log");
  plan.algorithm = fastest;
  return {};
}

// The same algorithm for every number of rows, so that every sum is added up in the same order.
Status Products::choose_reproducible(Plan& plan) {
  const ProductShape& shape = plan.shape;
  const std::vector<std::uint32_t> key{shape.outputs, shape.width,
                                       static_cast<std::uint32_t>(shape.precision)};
  auto known = reproducible_.find(key);
  if (known == reproducible_.end()) {
    Plan typical;
    typical.shape = shape;
    Status status = describe(typical, kTypicalRows);
    auto algorithms = status ? candidates(typical) : tl::unexpected(status.error());
    destroy(typical);
    if (!algorithms) return tl::unexpected(algorithms.error());
    const auto whole = std::find_if(algorithms->begin(), algorithms->end(),
                                    [this](const cublasLtMatmulAlgo_t& a) { return !splits(a); });
    if (whole == algorithms->end())
      return invalid("no reproducible algorithm for a product; set device.reproducible = \"off\"");
    known = reproducible_.emplace(key, *whole).first;
  }
  plan.algorithm = known->second;
  if (accepted(plan)) return {};
  return invalid("no algorithm runs a product of " + std::to_string(shape.rows) +
                 " rows as all others; set device.reproducible = \"off\"");
}

Result<double> Products::time_us(Plan& plan, const ProductCall& call, cudaStream_t stream) const {
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  Status status = multiply(plan, call, stream);
  cudaEventRecord(begin, stream);
  for (int i = 0; i < kRepetitions && status; ++i) status = multiply(plan, call, stream);
  cudaEventRecord(end, stream);
  const cudaError_t waited = cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  if (!status) return tl::unexpected(status.error());
  if (waited != cudaSuccess)
    return tl::unexpected(error_of(waited, cudaGetErrorString(waited), "timing a product"));
  return double{ms} * 1e3 / kRepetitions;
}

Status Products::multiply(const Plan& plan, const ProductCall& call, cudaStream_t stream) const {
  const float one = 1, zero = 0;
  auto* out = at<void>(call.out);
  const cublasStatus_t status = library_.matmul(
      handle_, plan.desc, &one, at<const void>(call.w), plan.w, at<const void>(call.x), plan.x, &zero, out,
      plan.out, out, plan.out, &plan.algorithm, at<void>(call.workspace), kWorkspaceBytes, stream);
  if (status != CUBLAS_STATUS_SUCCESS) return blas_error(status, "multiplying");
  return {};
}

Status Products::run(const ProductCall& call, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (call.product == 0 || call.product > plans_.size()) return invalid("a product was not planned");
  return multiply(plans_[call.product - 1], call, stream);
}

}  // namespace volvox::gpu
