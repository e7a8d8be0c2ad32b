#include "cpu/cells/convolver.h"

#include <algorithm>

#include "cpu/cells/row_product.h"

namespace volvox::cpu {
namespace {

// What the inputs of the rows that are multiplied together may take of a thread's second cache.
constexpr std::size_t kInputFloats = std::size_t{96} << 10;

}  // namespace

ConvolutionPlan plan_convolution(const Convolution& c) {
  ConvolutionPlan plan;
  const bool one_line = c.height == 1 && c.kernel_height == 1 && c.padding[0] == 0;
  plan.in_place = one_line && c.dilation[1] == 1;
  const auto positions = static_cast<std::size_t>(c.positions());
  plan.positions = std::min(positions, kMaxBlockRows);
  const auto inputs = static_cast<std::size_t>(c.group_channels() * c.height * c.width);
  plan.rows = std::clamp<std::size_t>(kInputFloats / inputs, 1, kMaxBlockRows / plan.positions);
  return plan;
}

void ConvolutionRoom::include(const Convolution& c) {
  const ConvolutionPlan plan = plan_convolution(c);
  const std::size_t at_once = plan.rows * plan.positions;
  const auto inputs = static_cast<std::size_t>(c.group_channels() * c.height * c.width);
  windows = std::max(windows, at_once);
  operands =
      std::max(operands, plan.in_place ? plan.rows * inputs : at_once * static_cast<std::size_t>(c.window()));
  products = std::max(products, at_once * static_cast<std::size_t>(c.group_kernels()));
}

Status ConvolutionScratch::prepare(const ConvolutionRoom& room) {
  if (windows.size() < room.windows) windows.resize(room.windows);
  if (out.size() < room.windows) out.resize(room.windows);
  if (Status ok = operands.grow(room.operands * sizeof(float)); !ok) return ok;
  return products.grow(room.products * sizeof(float));
}

void Convolver::run(const float* const* x, std::size_t rows, float* out, std::size_t stride) {
  stride_ = stride;
  for (std::size_t group = 0; group < products_.size(); ++group) {
    for (std::size_t row = 0; row < rows; row += plan_.rows) {
      const std::size_t n = std::min(plan_.rows, rows - row);
      out_ = out + row * stride + group * group_kernels() * positions();
      turn_inputs(x + row, n, group);
      for (first_ = 0; first_ < positions(); first_ += plan_.positions) {
        block_ = std::min(plan_.positions, positions() - first_);
        for (std::size_t at = first_; at < first_ + block_;) {
          const Run same = run_from(at, first_ + block_);
          multiply(x + row, n, group, same);
          at = same.end;
        }
        if (positions() == 1) continue;  // the products are the results
        for (std::size_t r = 0; r < n; ++r) {
          kernels_.turn(scratch_.products.f32() + r * block_ * group_kernels(), block_, group_kernels(),
                        out_ + r * stride + first_, positions());
        }
      }
    }
  }
}

Convolver::Run Convolver::run_from(std::size_t position, std::size_t end) const {
  if (!plan_.in_place)
    return {position, end, 0, static_cast<std::size_t>(c_.kernel_width * c_.kernel_height), 0};
  const auto left = [this](std::size_t at) {
    return static_cast<std::int64_t>(at) * c_.stride[1] - c_.padding[1];
  };
  const auto first = [&](std::size_t at) { return std::clamp<std::int64_t>(-left(at), 0, c_.kernel_width); };
  const auto last = [&](std::size_t at) {
    return std::clamp<std::int64_t>(c_.width - left(at), first(at), c_.kernel_width);
  };
  Run run{position, position + 1, static_cast<std::size_t>(first(position)),
          static_cast<std::size_t>(last(position)), 0};
  if (run.first < run.last) run.at = static_cast<std::size_t>(left(position) + first(position));
  while (run.end < end && first(run.end) == first(position) && last(run.end) == last(position)) ++run.end;
  return run;
}

void Convolver::turn_inputs(const float* const* x, std::size_t rows, std::size_t group) {
  if (!turns()) return;
  const std::size_t inputs = channels() * elements();
  for (std::size_t r = 0; r < rows; ++r) {
    kernels_.turn(x[r] + group * inputs, channels(), elements(), scratch_.operands.f32() + r * inputs,
                  channels());
  }
}

void Convolver::multiply(const float* const* x, std::size_t rows, std::size_t group, const Run& run) {
  const std::size_t each = run.end - run.begin, wide = group_kernels();
  point_at(x, rows, group, run);
  for (std::size_t r = 0; r < rows; ++r) {
    float* const to = positions() == 1 ? out_ + r * stride_
                                       : scratch_.products.f32() + (r * block_ + run.begin - first_) * wide;
    for (std::size_t i = 0; i < each; ++i) scratch_.out[r * each + i] = to + i * wide;
  }
  const ProductTerm term{scratch_.windows.data(), (run.last - run.first) * channels()};
  multiply_rows(kernels_, products_[group], {&term, 1}, nullptr, scratch_.out.data(), rows * each, parked_,
                run.first * channels());
}

// Where the windows of the run are read, row by row.
void Convolver::point_at(const float* const* x, std::size_t rows, std::size_t group, const Run& run) {
  const std::size_t each = run.end - run.begin, inputs = channels() * elements();
  const std::size_t step = static_cast<std::size_t>(c_.stride[1]) * channels();
  const auto window = static_cast<std::size_t>(c_.window());
  for (std::size_t r = 0; r < rows; ++r) {
    if (plan_.in_place) {
      const float* from = turns() ? scratch_.operands.f32() + r * inputs : x[r] + group * inputs;
      for (std::size_t i = 0; i < each; ++i)
        scratch_.windows[r * each + i] = from + run.at * channels() + i * step;
    } else {
      for (std::size_t i = 0; i < each; ++i) {
        float* to = scratch_.operands.f32() + (r * each + i) * window;
        copy_window(c_, x[r], static_cast<std::int64_t>(run.begin + i), to, static_cast<std::int64_t>(group));
        scratch_.windows[r * each + i] = to;
      }
    }
  }
}

}  // namespace volvox::cpu
