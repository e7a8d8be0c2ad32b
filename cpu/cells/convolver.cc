#include "cpu/cells/convolver.h"

#include <algorithm>

#include "cpu/cells/row_product.h"

namespace volvox::cpu {
namespace {

// What the inputs of the rows that are multiplied together may take of a thread's second cache.
constexpr std::size_t kInputFloats = std::size_t{96} << 10;
constexpr std::size_t kCacheLineFloats = 16;

// Of a convolution with a mirror: an input with its padding, and what a window becomes, in floats.
std::size_t line_floats(const Convolution& c) {
  return static_cast<std::size_t>(c.width + 2 * c.padding[1]);
}
std::size_t folded_floats(const Convolution& c, const Mirror& mirror) {
  const auto folded = static_cast<std::size_t>(mirror.folded(c.window()));
  return (folded + kCacheLineFloats - 1) / kCacheLineFloats * kCacheLineFloats;
}

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

void ConvolutionRoom::include(const Convolution& c, const Mirror& mirror) {
  const ConvolutionPlan plan = plan_convolution(c);
  const std::size_t at_once = plan.rows * plan.positions;
  const auto inputs = static_cast<std::size_t>(c.group_channels() * c.height * c.width);
  const auto window = static_cast<std::size_t>(c.window());
  std::size_t needed = plan.in_place ? plan.rows * inputs : at_once * window;
  if (mirror) needed = 2 * (plan.rows * line_floats(c) + at_once * folded_floats(c, mirror));
  windows = std::max(windows, at_once);
  operands = std::max(operands, needed);
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
  const auto groups = static_cast<std::size_t>(c_.groups);
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t row = 0; row < rows; row += plan_.rows) {
      const std::size_t n = std::min(plan_.rows, rows - row);
      out_ = out + row * stride + group * group_kernels() * positions();
      packed_.mirror ? reflect_inputs(x + row, n) : turn_inputs(x + row, n, group);
      for (first_ = 0; first_ < positions(); first_ += plan_.positions) {
        block_ = std::min(plan_.positions, positions() - first_);
        packed_.mirror ? multiply_folded(n) : multiply_block(x + row, n, group);
        if (positions() == 1) continue;  // the products are the results
        for (std::size_t r = 0; r < n; ++r) {
          kernels_.turn(scratch_.products.f32() + r * block_ * group_kernels(), block_, group_kernels(),
                        out_ + r * stride + first_, positions());
        }
      }
    }
  }
}

void Convolver::multiply_block(const float* const* x, std::size_t rows, std::size_t group) {
  for (std::size_t at = first_; at < first_ + block_;) {
    const Run same = run_from(at, first_ + block_);
    multiply(x, rows, group, same);
    at = same.end;
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
  const std::size_t each = run.end - run.begin;
  point_at(x, rows, group, run);
  point_at_results(rows, run.begin, each);
  const ProductTerm term{scratch_.windows.data(), (run.last - run.first) * channels()};
  multiply_rows(kernels_, packed_.products[group], {&term, 1}, nullptr, scratch_.out.data(), rows * each,
                parked_, run.first * channels());
}

// Where results [begin, begin + each) of the rows are written, from one of the kernels on.
void Convolver::point_at_results(std::size_t rows, std::size_t begin, std::size_t each, std::size_t kernel) {
  const std::size_t wide = group_kernels();
  for (std::size_t r = 0; r < rows; ++r) {
    float* const to = positions() == 1 ? out_ + r * stride_
                                       : scratch_.products.f32() + (r * block_ + begin - first_) * wide;
    for (std::size_t i = 0; i < each; ++i) scratch_.out[r * each + i] = to + i * wide + kernel;
  }
}

// The inputs with their padding, and behind them the same the other way round, so that the second taps of the
// pairs of a window lie in ascending order, too.
void Convolver::reflect_inputs(const float* const* x, std::size_t rows) {
  const std::size_t line = line_floats(c_);
  const auto padding = static_cast<std::size_t>(c_.padding[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    float* to = scratch_.operands.f32() + 2 * r * line;
    std::fill_n(to, padding, 0.0F);
    std::copy_n(x[r], c_.width, to + padding);
    std::fill_n(to + padding + c_.width, padding, 0.0F);
    kernels_.reverse(to, to + line, line);
  }
}

// The block's results of so many rows.
void Convolver::multiply_folded(std::size_t rows) {
  const Mirror& mirror = packed_.mirror;
  const std::size_t line = line_floats(c_), wide = folded_floats(c_, mirror), count = rows * block_;
  const auto first = static_cast<std::size_t>(mirror.first);
  const std::size_t last = static_cast<std::size_t>(mirror.axis) - first;
  const auto pairs = static_cast<std::size_t>(mirror.pairs);
  float* const sums = scratch_.operands.f32() + 2 * plan_.rows * line;
  float* const differences = sums + plan_.rows * plan_.positions * wide;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (first_ + i % block_) * static_cast<std::size_t>(c_.stride[1]);
    const float* const row = scratch_.operands.f32() + 2 * (i / block_) * line;
    const float* const left = row + at + first;
    const float* const right = row + line + (line - 1 - at - last);
    kernels_.add(left, right, sums + i * wide, pairs);
    kernels_.sub(left, right, differences + i * wide, pairs);
    std::size_t to = i * wide + pairs;
    mirror.for_rest(c_.window(), [&](std::int64_t tap) {
      sums[to] = differences[to] = row[at + static_cast<std::size_t>(tap)];
      ++to;
    });
  }
  const auto even = static_cast<std::size_t>(mirror.even);
  const auto multiply = [&](const PackedProduct& product, const float* numbers, std::size_t kernel) {
    for (std::size_t i = 0; i < count; ++i) scratch_.windows[i] = numbers + i * wide;
    point_at_results(rows, first_, block_, kernel);
    const ProductTerm term{scratch_.windows.data(), product.width()};
    multiply_rows(kernels_, product, {&term, 1}, nullptr, scratch_.out.data(), count, parked_);
  };
  if (even > 0) multiply(packed_.products.front(), sums, 0);
  if (even < group_kernels()) multiply(packed_.products.back(), differences, even);
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
