#include <array>
#include <string>
#include <vector>

#include "cells/ir/mirror.h"
#include "cells/ops/define.h"
#include "cells/ops/extents.h"

namespace volvox {
namespace {

// One chain over the taps of a window that lie in x, of each over its channels. Where the kernels mirror
// themselves, over the pairs of taps and then the rest; where they are twins, a chain for each phase.
struct Slide {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Convolution& c = op.convolution;
    if (const Mirror mirror = find_mirror(c, row.weights()[0], op.has_bias)) return mirrored(row, op, mirror);
    const auto window = static_cast<std::size_t>(c.window());
    const auto channels = static_cast<std::size_t>(c.group_channels());
    Real* out = row.real(op.output);
    std::vector<Real>& windowed = row.scratch();
    windowed.resize(window);
    std::vector<float> kernels(static_cast<std::size_t>(c.kernels) * window);
    for (std::size_t first = 0; first < kernels.size(); first += window)
      copy_kernel(c, row.weights()[0] + first, kernels.data() + first);
    for (std::int64_t at = 0; at < c.groups * c.positions(); ++at) {
      const std::int64_t group = at / c.positions(), position = at % c.positions();
      copy_window(c, row.real(op.inputs[0]), position, windowed.data(), group);
      for (std::int64_t k = group * c.group_kernels(); k < (group + 1) * c.group_kernels(); ++k) {
        const float* kernel = kernels.data() + static_cast<std::size_t>(k) * window;
        Real sum = op.has_bias ? static_cast<Real>(row.weights()[1][k]) : Real{0};
        std::size_t from = 0;
        c.for_window(position, [&](std::int64_t tap) {
          if (tap >= 0) sum = row.math().chain(sum, kernel + from, windowed.data() + from, channels);
          from += channels;
        });
        out[k * c.positions() + position] = sum;
      }
    }
  }

  template <class Real>
  static void mirrored(RowValues<Real>& row, const Operator& op, const Mirror& mirror) {
    const Convolution& c = op.convolution;
    const std::int64_t window = c.window();
    const auto folded = static_cast<std::size_t>(mirror.folded(window));
    const std::vector<float> kernels = fold_kernels(mirror, window, row.weights()[0], c.kernels);
    Real* out = row.real(op.output);
    std::vector<Real> taps(static_cast<std::size_t>(window));
    std::vector<Real>& numbers = row.scratch();
    numbers.resize(folded);
    const auto chain_of = [&](std::int64_t k, std::size_t from, std::int64_t count) {
      const Real start = op.has_bias ? static_cast<Real>(row.weights()[1][k]) : Real{0};
      return row.math().chain(start, kernels.data() + static_cast<std::size_t>(k) * folded + from,
                              numbers.data() + from, static_cast<std::size_t>(count));
    };
    for (std::int64_t position = 0; position < c.positions(); ++position) {
      copy_window(c, row.real(op.inputs[0]), position, taps.data());
      for (std::int64_t k = 0; k < c.kernels; ++k) {
        const bool even = k < mirror.even;
        if (k == 0 || k == mirror.even)
          fold_window(mirror, window, taps.data(), even ? Real{1} : Real{-1}, numbers.data());
        Real& to = out[k * c.positions() + position];
        if (mirror.phases == 1) {
          to = chain_of(k, 0, mirror.folded(window));
          continue;
        }
        const std::int64_t begin = even ? 0 : mirror.even, end = even ? mirror.even : c.kernels;
        const bool is_twin = k - begin >= mirror.multiplied(end - begin);
        const std::int64_t of = is_twin ? begin + end - 1 - k : k, first = mirror.folded(window, 0);
        const std::array<Real, 2> sums{
            chain_of(of, 0, first), chain_of(of, static_cast<std::size_t>(first), mirror.folded(window, 1))};
        const auto common = static_cast<std::size_t>(Mirror::common_phase(even));
        if (2 * (of - begin) + 1 == end - begin) {  // its own twin
          to = sums[common];
        } else {
          to = is_twin ? sums[common] - sums[1 - common] : sums[common] + sums[1 - common];
        }
      }
    }
  }
};

Status infer(Inference& at) {
  const Convolution& c = at.op().convolution;
  if (Status status = at.arity(1, at.op().has_bias ? 2 : 1); !status) return status;
  if (Status status = at.want(0, DType::kF32, false); !status) return status;
  if (Status status = check_extents(at, c); !status) return status;
  if (c.channels % c.groups != 0 || c.kernels % c.groups != 0) {
    return at.error(std::to_string(c.channels) + " channels and " + std::to_string(c.kernels) +
                    " kernels do not fall into " + std::to_string(c.groups) + " equal groups");
  }
  if (Status status = at.weight(0, c.weight_shape()); !status) return status;
  if (at.op().has_bias) {
    if (Status status = at.weight(1, {c.kernels}); !status) return status;
  }
  return at.produce({DType::kF32, {c.outputs()}, false});
}

}  // namespace

constinit const OpDef kConvolutionOp = computed_op<Slide>(
    "convolution", OpDef::kAny, OpDef::kAny, infer,
    "(x; a convolution) -> windows of x times kernels, ONE chain for each element, tap by tap; "
    "by pairs of taps where long kernels of one channel are their own mirror images, even and odd taps "
    "apart where they are those of a Fourier transform");

}  // namespace volvox
