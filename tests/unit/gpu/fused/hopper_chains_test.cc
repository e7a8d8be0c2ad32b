#include "tests/unit/gpu/gpu_chains.h"

namespace volvox::gpu {
namespace {

class GpuHopperChains : public GpuChains {};

// Tasks of the step for Hopper begin early.
TEST_P(GpuHopperChains, ComputeTheSameInTasksThatBeginEarly) {
  const NewSizes sizes{.hidden = 64, .input = 64, .vocabulary = 200};
  for (const bool eager : {true, false}) {
    for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
      const CellOptions cells{.precision = precision, .path = KernelPath::kFused};
      expect_right(sizes, eager, {.cells = cells}, 2e-2);
      // The fake device refuses a task that waits for another one which is not right ahead of it.
      if (fake_ && !eager) {
        EXPECT_GT(fake_->chained_tasks(), 0U);
      }
      expect_right(sizes, eager, {.workers = 2, .cells = cells}, 2e-2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuHopperChains, ::testing::Values(host_backend(), gpu_backend()),
                         backend_name);

}  // namespace
}  // namespace volvox::gpu
