#include "cells/ir/mirror.h"

#include <algorithm>

#include "cells/ops/ops.h"

namespace volvox {
namespace {

// Fewer cost about as much to add as to multiply.
constexpr std::int64_t kLeastTaps = 32, kLeastKernels = 16;

// Whether the last of `count` kernels are the twins of the first ones.
bool are_twins(const float* kernels, std::int64_t count, std::int64_t window, bool is_even) {
  const std::int64_t common = Mirror::common_phase(is_even);
  for (std::int64_t k = 0; k < Mirror{.phases = 2}.multiplied(count); ++k) {
    const float* one = kernels + k * window;
    const float* twin = kernels + (count - 1 - k) * window;
    for (std::int64_t tap = 0; tap < window; ++tap) {
      if (twin[tap] != (tap % 2 == common ? one[tap] : -one[tap])) return false;
    }
  }
  return true;
}

// Kernels of zeros are even and odd: where one group ends is seen by the twins.
void find_twins(const Convolution& c, const float* kernels, Mirror& mirror) {
  const std::int64_t window = c.kernel_width;
  if (mirror.axis % 2 != 0) return;
  for (std::int64_t even = mirror.even; even >= 0; --even) {
    const std::int64_t odd = c.kernels - even;
    const auto is_long = [](std::int64_t count) { return count == 0 || count >= kLeastKernels; };
    if (is_long(even) && is_long(odd) && are_twins(kernels, even, window, true) &&
        are_twins(kernels + even * window, odd, window, false)) {
      mirror.even = even;
      mirror.phases = 2;
      return;
    }
    if (even == 0) return;
    const float* last = kernels + (even - 1) * window;
    if (std::any_of(last, last + window, [](float weight) { return weight != 0; })) return;
  }
}

// Each element of its value is made of few of its inputs', and is off by little where these are.
bool passes_on(const Operator& op) {
  constexpr const OpDef* kMoves[] = {&kSliceOp,      &kConcatOp,    &kReshapeOp, &kSliceAxisOp,
                                     &kConcatAxisOp, &kTransposeOp, &kPadOp,     &kPadReflectOp};
  if (op.is(kLogOp) || op.is(kDivOp)) return false;
  return op.def->pointwise || std::ranges::find(kMoves, op.def) != std::end(kMoves);
}

}  // namespace

void infer_sums(Cell& cell) {
  enum class Use : std::uint8_t { kNone, kSummed, kSeen };
  std::vector<Use> uses(cell.values.size(), Use::kNone);
  for (auto op = cell.operators.rbegin(); op != cell.operators.rend(); ++op) {
    const Use own = op->output == kNoValue ? Use::kSeen : uses[op->output];
    if (op->is(kConvolutionOp) && own == Use::kSummed) op->convolution.summed_again = true;
    const bool sums = op->is(kProductOp) || op->is(kLinearOp) || op->is(kConvolutionOp);
    const Use use = sums ? Use::kSummed : passes_on(*op) ? own : Use::kSeen;
    for (const ValueId input : op->inputs) uses[input] = std::max(uses[input], use);
  }
}

std::int64_t Mirror::pairs_of(std::int64_t phase) const {
  return std::max<std::int64_t>(0, (first + pairs - first_of(phase) + phases - 1) / phases);
}

std::int64_t Mirror::folded(std::int64_t window, std::int64_t phase) const {
  std::int64_t count = pairs_of(phase);
  for_rest(window, phase, [&](std::int64_t) { ++count; });
  return count;
}

Mirror find_mirror(const Convolution& c, const float* kernels, bool has_biases) {
  const std::int64_t window = c.kernel_width;
  // A line with its padding is not much longer than the input, which is what memory is planned for.
  const bool line = 2 * c.padding[1] <= c.width && c.height == 1 && c.kernel_height == 1 &&
                    c.padding[0] == 0 && c.dilation[1] == 1;
  if (!line || !c.summed_again || c.channels != 1 || window < kLeastTaps || c.kernels < kLeastKernels)
    return {};
  // About the middle, and about a sample, as filters of an even length are whose window begins with 0.
  for (const std::int64_t axis : {window - 1, window, window - 2}) {
    Mirror mirror{.axis = axis, .first = std::max<std::int64_t>(axis - window + 1, 0)};
    mirror.pairs = (axis + 1) / 2 - mirror.first;
    const auto mirrors = [&](std::int64_t kernel, float sign) {
      const float* left = kernels + kernel * window + mirror.first;
      const float* right = kernels + kernel * window + axis - mirror.first;
      for (std::int64_t i = 0; i < mirror.pairs; ++i) {
        if (*left++ != sign * *right--) return false;
      }
      return true;
    };
    while (mirror.even < c.kernels && mirrors(mirror.even, 1.0F)) ++mirror.even;
    std::int64_t odd = mirror.even;
    while (odd < c.kernels && mirrors(odd, -1.0F)) ++odd;
    if (odd < c.kernels) continue;
    if (!has_biases) find_twins(c, kernels, mirror);
    return mirror;
  }
  return {};
}

std::vector<float> fold_kernels(const Mirror& mirror, std::int64_t window, const float* kernels,
                                std::int64_t count) {
  std::vector<float> folded;
  folded.reserve(static_cast<std::size_t>(count * mirror.folded(window)));
  for (std::int64_t kernel = 0; kernel < count; ++kernel) {
    const float* taps = kernels + kernel * window;
    for (std::int64_t phase = 0; phase < mirror.phases; ++phase) {
      const float* first = taps + mirror.first_of(phase);
      const std::int64_t pairs = mirror.pairs_of(phase);
      for (std::int64_t i = 0; i < pairs; ++i) folded.push_back(first[i * mirror.phases]);
      mirror.for_rest(window, phase, [&](std::int64_t tap) { folded.push_back(taps[tap]); });
    }
  }
  return folded;
}

}  // namespace volvox
