#include "cpu/cells/convolver.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/cells/cache_line.h"
#include "cpu/cells/row_product.h"

namespace volvox::cpu {
namespace {

// What the inputs of the rows that are multiplied together may take of a thread's second cache.
constexpr std::size_t kInputFloats = std::size_t{96} << 10;
// Of windows of several rows: with more, weights are read less often, but the windows and their products
// leave that cache.
constexpr std::size_t kWindows = kMaxBlockRows / 2;

// Of a convolution with a mirror: an input with its padding, each phase as long, and what a window becomes,
// in floats.
std::size_t line_floats(const Convolution& c, const Mirror& mirror) {
  const auto phases = static_cast<std::size_t>(mirror.phases);
  return (static_cast<std::size_t>(c.width + 2 * c.padding[1]) + phases - 1) / phases * phases;
}
std::size_t folded_floats(const Convolution& c, const Mirror& mirror) {
  return whole_lines(static_cast<std::size_t>(mirror.folded(c.window())));
}

// Whether inputs are read with the channels of an element side by side, and do not lie so.
bool turns_inputs(const Convolution& c, TurnedEnds turned) {
  return plan_convolution(c).in_place && !turned.input && c.group_channels() > 1 && c.height * c.width > 1;
}

// Whether the products are the results, and lie as these shall.
bool writes_results(const Convolution& c, TurnedEnds turned) {
  return c.positions() == 1 || turned.output;
}

}  // namespace

Convolver::Convolver(const Kernels& kernels, const Convolution& convolution, const PackedConvolution& packed,
                     TurnedEnds turned, ConvolutionScratch& scratch, float* parked)
    : kernels_(kernels),
      c_(convolution),
      plan_(plan_convolution(convolution)),
      packed_(packed),
      turns_inputs_(turns_inputs(convolution, turned)),
      writes_results_(writes_results(convolution, turned)),
      scratch_(scratch),
      parked_(parked) {}

ConvolutionPlan plan_convolution(const Convolution& c) {
  ConvolutionPlan plan;
  const bool one_line = c.height == 1 && c.kernel_height == 1 && c.padding[0] == 0;
  plan.in_place = one_line && c.dilation[1] == 1;
  const auto positions = static_cast<std::size_t>(c.positions());
  plan.positions = std::min(positions, kMaxBlockRows);
  const auto inputs = static_cast<std::size_t>(c.group_channels() * c.height * c.width);
  plan.rows =
      std::clamp<std::size_t>(kInputFloats / inputs, 1, std::max<std::size_t>(kWindows / plan.positions, 1));
  return plan;
}

void ConvolutionRoom::include(const Convolution& c, const Mirror& mirror, TurnedEnds turned) {
  const ConvolutionPlan plan = plan_convolution(c);
  const std::size_t at_once = plan.rows * plan.positions;
  const auto inputs = static_cast<std::size_t>(c.group_channels() * c.height * c.width);
  const auto window = static_cast<std::size_t>(c.window());
  std::size_t needed = plan.in_place ? 0 : at_once * window;
  if (turns_inputs(c, turned)) needed = plan.rows * inputs;
  if (mirror) needed = 2 * (plan.rows * line_floats(c, mirror) + at_once * folded_floats(c, mirror));
  windows = std::max(windows, at_once);
  operands = std::max(operands, needed);
  const auto kernels = static_cast<std::size_t>(c.group_kernels());
  // Twins are made of as many halves, of at most all kernels, and of the differences of one window.
  const std::size_t halves = mirror.phases == 2 ? (2 * at_once + 1) * ((kernels + 1) / 2) : 0;
  products = std::max(products, (writes_results(c, turned) ? 0 : at_once * kernels) + halves);
}

Status ConvolutionScratch::prepare(const ConvolutionRoom& room) {
  if (windows.size() < room.windows) windows.resize(room.windows);
  if (out.size() < room.windows) out.resize(room.windows);
  if (halves.size() < room.windows) halves.resize(room.windows);
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
        if (writes_results_) continue;
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
  if (!turns_inputs_) return;
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
    float* const to = writes_results_ ? out_ + r * stride_ + begin * wide
                                      : scratch_.products.f32() + (r * block_ + begin - first_) * wide;
    for (std::size_t i = 0; i < each; ++i) scratch_.out[r * each + i] = to + i * wide + kernel;
  }
}

// The inputs with their padding, phase by phase, and behind them the same the other way round, so that the
// second taps of the pairs of a window lie in ascending order, too.
void Convolver::reflect_inputs(const float* const* x, std::size_t rows) {
  const auto phases = static_cast<std::size_t>(packed_.mirror.phases);
  const std::size_t line = line_floats(c_, packed_.mirror), length = line / phases;
  const auto padding = static_cast<std::size_t>(c_.padding[1]), width = static_cast<std::size_t>(c_.width);
  for (std::size_t r = 0; r < rows; ++r) {
    float* const to = scratch_.operands.f32() + 2 * r * line;
    if (phases == 1) {
      std::fill_n(to, padding, 0.0F);
      std::copy_n(x[r], width, to + padding);
      std::fill_n(to + padding + width, padding, 0.0F);
    } else {
      std::fill_n(to, line, 0.0F);
      float* one = to + padding % 2 * length + padding / 2;
      float* other = to + (padding + 1) % 2 * length + (padding + 1) / 2;
      std::size_t i = 0;
      for (; i + 1 < width; i += 2) {
        *one++ = x[r][i];
        *other++ = x[r][i + 1];
      }
      if (i < width) *one = x[r][i];
    }
    for (std::size_t phase = 0; phase < phases; ++phase)
      kernels_.reverse(to + phase * length, to + line + phase * length, length);
  }
}

// What the block's windows become, `count` of them.
void Convolver::fold_windows(std::size_t count, float* sums, float* differences) {
  const Mirror& mirror = packed_.mirror;
  struct Phase {
    std::size_t first = 0, last = 0, pairs = 0;  // taps of the first pair
  };
  const auto phases = static_cast<std::size_t>(mirror.phases);
  const std::size_t odd = phases - 1;  // what tells phases apart: the last bit, or none
  std::array<Phase, 2> each;
  for (std::size_t phase = 0; phase < phases; ++phase) {
    const std::int64_t first = mirror.first_of(static_cast<std::int64_t>(phase));
    each[phase] = {static_cast<std::size_t>(first), static_cast<std::size_t>(mirror.axis - first),
                   static_cast<std::size_t>(mirror.pairs_of(static_cast<std::int64_t>(phase)))};
  }
  const std::size_t line = line_floats(c_, mirror), length = line / phases, wide = folded_floats(c_, mirror);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t window = (first_ + i % block_) * static_cast<std::size_t>(c_.stride[1]);
    const float* const row = scratch_.operands.f32() + 2 * (i / block_) * line;
    // Where an element of the padded input lies, and where those from it on lie the other way round.
    const auto at = [&](std::size_t element) { return row + (element & odd) * length + (element >> odd); };
    const auto back_from = [&](std::size_t element) {
      return row + line + (element & odd) * length + (length - 1 - (element >> odd));
    };
    std::size_t to = i * wide;
    for (std::size_t phase = 0; phase < phases; ++phase) {
      const auto& [first, last, pairs] = each[phase];
      const float* const left = at(window + first);
      const float* const right = back_from(window + last);
      kernels_.add(left, right, sums + to, pairs);
      kernels_.sub(left, right, differences + to, pairs);
      to += pairs;
      mirror.for_rest(c_.window(), static_cast<std::int64_t>(phase), [&](std::int64_t tap) {
        sums[to] = differences[to] = *at(window + static_cast<std::size_t>(tap));
        ++to;
      });
    }
  }
}

// The block's results of so many rows.
void Convolver::multiply_folded(std::size_t rows) {
  const Mirror& mirror = packed_.mirror;
  const std::size_t wide = folded_floats(c_, mirror), count = rows * block_;
  float* const sums = scratch_.operands.f32() + 2 * plan_.rows * line_floats(c_, mirror);
  float* const differences = sums + plan_.rows * plan_.positions * wide;
  fold_windows(count, sums, differences);
  const auto even = static_cast<std::size_t>(mirror.even);
  const auto multiply = [&](const PackedProduct& product, const float* numbers, std::size_t kernel,
                            std::size_t kernels) {
    point_at_results(rows, first_, block_, kernel);
    if (mirror.phases == 2) return multiply_twins(product, numbers, kernel, kernels, count);
    for (std::size_t i = 0; i < count; ++i) scratch_.windows[i] = numbers + i * wide;
    const ProductTerm term{scratch_.windows.data(), product.width()};
    multiply_rows(kernels_, product, {&term, 1}, nullptr, scratch_.out.data(), count, parked_);
  };
  if (even > 0) multiply(packed_.products.front(), sums, 0, even);
  if (even < group_kernels()) multiply(packed_.products.back(), differences, even, group_kernels() - even);
}

// Both phases of the first half of the kernels, and each with its twin of them.
void Convolver::multiply_twins(const PackedProduct& product, const float* numbers, std::size_t kernel,
                               std::size_t kernels, std::size_t count) {
  const Mirror& mirror = packed_.mirror;
  const std::size_t wide = folded_floats(c_, mirror);
  const auto half = static_cast<std::size_t>(mirror.multiplied(static_cast<std::int64_t>(kernels)));
  const std::size_t twins = kernels - half;
  const std::size_t products = writes_results_ ? 0 : plan_.rows * plan_.positions * group_kernels();
  float* const sums = scratch_.products.f32() + products;
  std::array<float*, 2> of{sums, sums + count * half};
  const auto common_phase =
      static_cast<std::size_t>(Mirror::common_phase(kernel < static_cast<std::size_t>(mirror.even)));
  std::size_t skip = 0;
  for (std::size_t phase = 0; phase < 2; ++phase) {
    for (std::size_t i = 0; i < count; ++i) {
      scratch_.windows[i] = numbers + i * wide + skip;
      scratch_.halves[i] = of[phase] + i * half;
    }
    const auto width = static_cast<std::size_t>(mirror.folded(c_.window(), static_cast<std::int64_t>(phase)));
    const ProductTerm term{scratch_.windows.data(), width};
    const std::size_t outputs = phase == common_phase ? half : twins;
    multiply_rows(kernels_, product, {&term, 1}, nullptr, scratch_.halves.data(), count, parked_, skip,
                  product.blocks_of(outputs));
    skip += width;
  }
  if (common_phase != 0) std::swap(of[0], of[1]);
  float* const differences = sums + 2 * count * half;
  for (std::size_t i = 0; i < count; ++i) {
    const float* const common = of[0] + i * half;
    const float* const other = of[1] + i * half;
    kernels_.add(common, other, scratch_.out[i], twins);
    if (half > twins) scratch_.out[i][twins] = common[twins];  // its own twin
    kernels_.sub(common, other, differences, twins);
    kernels_.reverse(differences, scratch_.out[i] + half, twins);
  }
}

// Where the windows of the run are read, row by row.
void Convolver::point_at(const float* const* x, std::size_t rows, std::size_t group, const Run& run) {
  const std::size_t each = run.end - run.begin, inputs = channels() * elements();
  const std::size_t step = static_cast<std::size_t>(c_.stride[1]) * channels();
  const auto window = static_cast<std::size_t>(c_.window());
  for (std::size_t r = 0; r < rows; ++r) {
    if (plan_.in_place) {
      const float* from = turns_inputs_ ? scratch_.operands.f32() + r * inputs : x[r] + group * inputs;
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
