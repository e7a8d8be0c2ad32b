#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "gpu/driver/choice_cache.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// cuBLASLt's functions. The library is half a gigabyte and needed only where there is a GPU: it is opened
// when the first device is, and its absence is an error with a sentence instead of a program that does not
// start.
struct BlasLibrary {
  static Result<const BlasLibrary*> open();

  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) config_get;
  decltype(&cublasLtMatmulAlgoCheck) check;
  decltype(&cublasLtGetVersion) version;
};

// The products of one device, each with the algorithm that measured best. Any thread may run them, one at a
// time; plan() is called at load.
class Products {
 public:
  // `kind` says what else than the library a choice depends on. No choices: each shape is measured.
  static Result<std::unique_ptr<Products>> make(std::shared_ptr<ChoiceCache> choices,
                                                const std::string& kind);
  ~Products();

  Result<ProductId> plan(const ProductShape& shape, const ProductCall& example, cudaStream_t stream);
  Status run(const ProductCall& call, cudaStream_t stream);

 private:
  struct Plan {
    ProductShape shape;
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t w = nullptr, x = nullptr, out = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };

  Products(const BlasLibrary& library, std::shared_ptr<ChoiceCache> choices, const std::string& kind)
      : library_(library),
        choices_(std::move(choices)),
        kind_(kind + ", cublasLt " + std::to_string(library.version())) {}
  Status choose(Plan& plan, const ProductCall& example, cudaStream_t stream);
  bool runs(Plan& plan, const std::string& choice) const;
  bool accepted(const Plan& plan) const;
  Status describe(Plan& plan, std::uint32_t rows) const;
  void destroy(Plan& plan) const;
  Result<std::vector<cublasLtMatmulAlgo_t>> candidates(const Plan& plan) const;
  Result<double> time_us(Plan& plan, const ProductCall& call, cudaStream_t stream) const;
  Status choose_fastest(Plan& plan, const ProductCall& example, cudaStream_t stream) const;
  Status choose_reproducible(Plan& plan);
  Status multiply(const Plan& plan, const ProductCall& call, cudaStream_t stream) const;
  bool splits(const cublasLtMatmulAlgo_t& algorithm) const;

  const BlasLibrary& library_;
  const std::shared_ptr<ChoiceCache> choices_;
  const std::string kind_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;  // guards what follows
  std::vector<Plan> plans_;
  // By outputs, width and precision: the one algorithm for all numbers of rows.
  std::map<std::vector<std::uint32_t>, cublasLtMatmulAlgo_t> reproducible_;
};

}  // namespace volvox::gpu
