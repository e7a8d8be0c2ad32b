#include <string>

#include "cells/ir/check_hash.h"
#include "tests/unit/cells/windowed_models.h"
#include "tests/unit/gpu/gpu_chains.h"

namespace volvox::gpu {
namespace {

TEST_P(GpuChains, LoseDoubleAndMixNoStep) {
  const auto model = folder_.check();
  const auto requests = contents(*model, 500);
  for (const Way& way : {Way{}, Way{.max_batch = 1, .in_flight = 3}, Way{.max_batch = 7, .workers = 2}}) {
    const Answers made = answers(model, requests, way);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::uint64_t want = 0, got = 0;
      for (std::size_t t = 0; t < requests[i].length; ++t) {
        std::int32_t token = 0;
        std::memcpy(&token, requests[i].inputs[0].data() + 4 * t, 4);
        want = check_hash(want, static_cast<std::uint64_t>(token));
      }
      std::memcpy(&got, made[i].data(), sizeof got);
      ASSERT_EQ(got, want) << "request " << i;
    }
  }
}

TEST_P(GpuChains, ComputeWhatTheReferenceComputes) {
  const NewSizes sizes{.hidden = 37, .input = 29, .vocabulary = 200};
  for (const bool eager : {true, false}) {
    expect_right(sizes, eager, {}, 1e-5);
    expect_right(sizes, eager, {.workers = 2}, 1e-5);
    expect_right(sizes, eager, {.cells = {.precision = Precision::kBfloat16}}, 2e-2);
  }
}

TEST_P(GpuChains, ComputeTheSameInOneKernel) {
  const NewSizes sizes{.hidden = 32, .input = 64, .vocabulary = 200};
  for (const bool eager : {true, false}) {
    expect_right(sizes, eager, {.cells = {.precision = Precision::kTf32, .path = KernelPath::kFused}}, 1e-3);
  }
}

// Clients send the new samples alone; what was before them is a state.
TEST_P(GpuChains, SeeWindowsOfTheirInput) {
  for (const testing_cells::Overlap& overlap : {testing_cells::Overlap{9, 2}, testing_cells::Overlap{6, 4}}) {
    const auto model = testing_cells::hearing_model(overlap, true);
    const auto requests = contents(*model, 60);
    const Answers made = answers(model, requests, {});
    auto reference = Reference::make(testing_cells::hearing_model(overlap, false, {.eager = false})).value();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::vector<float> stream(requests[i].inputs[0].size() / sizeof(float));
      std::memcpy(stream.data(), requests[i].inputs[0].data(), stream.size() * sizeof(float));
      const std::vector<float> rows = testing_cells::by_hand(overlap, stream);
      const auto input = std::as_bytes(std::span(rows));
      const auto exact = reference.run(std::span(&input, 1)).value().front().reals;
      std::vector<float> y(exact.size());
      ASSERT_GE(made[i].size(), y.size() * sizeof(float));
      std::memcpy(y.data(), made[i].data(), y.size() * sizeof(float));
      for (std::size_t k = 0; k < y.size(); ++k) ASSERT_NEAR(y[k], exact[k], 1e-5) << "request " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuChains, ::testing::Values(host_backend(), gpu_backend()), backend_name);

}  // namespace
}  // namespace volvox::gpu
