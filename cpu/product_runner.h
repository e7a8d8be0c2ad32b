#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "cpu/kernel/kernels.h"
#include "cpu/packed_product.h"
#include "cpu/team/thread_team.h"

namespace volvox::cpu {

// A product, and what a kernel makes of it, over all rows of a task. Arrays have one pointer for each row.
struct ProductCall {
  const PackedProduct* product = nullptr;
  BlockKernel kernel = nullptr;
  std::size_t rows = 0;
  const ProductTerm* terms = nullptr;  // widths as packed
  std::size_t term_count = 0;
  const float* const* start = nullptr;          // instead of a bias
  const float* const* in[kMaxStepInputs] = {};  // see ProductBlock, like the next
  float* const* out[kMaxStepOutputs] = {};
};

// How a call is cut into units.
struct ProductPlan {
  std::size_t rows_per_unit = 0;
  std::size_t row_blocks = 0;
  bool alone = false;  // so short that the executor runs it without the team
};
ProductPlan plan_product(const PackedProduct& product, std::size_t rows, std::uint32_t threads);

// Runs products on a team: each thread owns a run of column blocks, whose weights stay in its private cache
// when they fit (DeepCPU §4.3), and takes from the others when its own are done. When they do not fit, it
// walks along them forwards and backwards in turn: what it read last, which is what its cache still holds, is
// read first by the next call, or for the next rows. Owned by an executor; all calls from its thread.
class ProductRunner {
 public:
  static Result<ProductRunner> make(std::uint32_t threads);

  void run(ThreadTeam& team, const ProductCall& call);

 private:
  struct Job;
  static void run_unit(const void* context, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread);

  std::vector<AlignedBuffer> scratch_;  // one for each thread
  std::vector<std::uint32_t> counts_;
  std::size_t sweeps_ = 0;  // so far, of products whose weights do not fit
};

}  // namespace volvox::cpu
