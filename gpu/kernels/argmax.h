#pragma once

#include "gpu/kernels/target.h"

namespace volvox::gpu {

// The index of the largest element of each row. One block for each row; each thread looks through its share,
// then the threads' candidates meet in whatever order.
struct ArgmaxCall {
  std::uint64_t x = 0, out = 0;  // rows of float32; rows of one int32
  std::uint32_t x_stride_bytes = 0, out_stride_bytes = 0;
  std::uint32_t rows = 0, width = 0;
  std::uint64_t bias = 0;  // float32, added to each row; 0: none
};

struct Candidate {
  float value;
  std::uint32_t index;
};

// What every element is better than.
VOLVOX_KERNEL_BODY Candidate no_candidate() {
  return {float_of(0x7fc00000U), ~std::uint32_t{0}};
}

// The better of two: the larger value, any value before a NaN, the first of equals. A total order, so that
// the best of many does not depend on who met whom.
VOLVOX_KERNEL_BODY Candidate better_of(const Candidate& a, const Candidate& b) {
  if (a.value > b.value) return a;
  if (b.value > a.value) return b;
  const bool a_nan = std::isnan(a.value), b_nan = std::isnan(b.value);
  if (a_nan != b_nan) return a_nan ? b : a;
  return a.index < b.index ? a : b;
}

// The best element of a row among thread, thread + threads, …
VOLVOX_KERNEL_BODY Candidate best_of_share(const ArgmaxCall& call, std::uint32_t row, std::uint32_t thread,
                                           std::uint32_t threads) {
  const auto* x = at<const float>(call.x + std::uint64_t{row} * call.x_stride_bytes);
  const auto* bias = at<const float>(call.bias);
  Candidate best = no_candidate();
  for (std::uint32_t k = thread; k < call.width; k += threads)
    best = better_of(best, {bias == nullptr ? x[k] : x[k] + bias[k], k});
  return best;
}

VOLVOX_KERNEL_BODY void store_best(const ArgmaxCall& call, std::uint32_t row, const Candidate& best) {
  *at<std::int32_t>(call.out + std::uint64_t{row} * call.out_stride_bytes) =
      static_cast<std::int32_t>(best.index);
}

}  // namespace volvox::gpu
