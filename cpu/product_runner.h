#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "cpu/kernel/kernels.h"
#include "cpu/packed_product.h"
#include "cpu/team/thread_team.h"

namespace volvox::cpu {

// A product (or an LSTM step) over all rows of a task. Arrays have one pointer for each row.
struct ProductCall {
  const PackedProduct* product = nullptr;
  bool lstm = false;
  std::size_t rows = 0;
  const ProductTerm* terms = nullptr;  // widths as packed
  std::size_t term_count = 0;
  const float* const* start = nullptr;  // instead of a bias
  float* const* out = nullptr;          // unless lstm
  const float* const* c_in = nullptr;   // lstm only, like the next two; h of the task must not overlap h_out
  float* const* c_out = nullptr;
  float* const* h_out = nullptr;
};

// How a call is cut into units.
struct ProductPlan {
  std::size_t rows_per_unit = 0;
  std::size_t row_blocks = 0;
  bool alone = false;  // so short that the executor runs it without the team
};
ProductPlan plan_product(const PackedProduct& product, std::size_t rows, std::uint32_t threads);

// Runs products on a team: each thread owns a run of column blocks, whose weights stay in its private cache
// when they fit (DeepCPU §4.3), and takes from the others when its own are done. Owned by an executor; all
// calls from its thread.
class ProductRunner {
 public:
  static Result<ProductRunner> make(const Kernels& kernels, std::uint32_t threads);

  void run(ThreadTeam& team, const ProductCall& call);

 private:
  struct Job;
  static void run_unit(const void* context, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread);

  const Kernels* kernels_ = nullptr;
  std::vector<AlignedBuffer> scratch_;  // one for each thread
  std::vector<std::uint32_t> counts_;
};

}  // namespace volvox::cpu
