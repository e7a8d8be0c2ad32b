#include "cpu/fma_peak.h"

#include <gtest/gtest.h>

#include "cpu/kernel/kernels.h"

namespace volvox::cpu {
namespace {

TEST(FmaPeak, IsMeasuredOnEveryInstructionSet) {
  for (Isa isa : supported_isas()) EXPECT_GT(measure_fma_peak_gflops(isa, 2, 5), 0.0) << to_string(isa);
}

TEST(FmaPeak, CountsEveryOperationOnce) {
  for (Isa isa : supported_isas()) {
    float sink = 1.0F;
    const std::uint64_t one = kernels_for(isa)->fma_burst(1, &sink);
    const std::uint64_t ten = kernels_for(isa)->fma_burst(10, &sink);
    EXPECT_EQ(ten, 10 * one);
    EXPECT_NE(sink, 1.0F) << "the work was not done";
  }
}

}  // namespace
}  // namespace volvox::cpu
