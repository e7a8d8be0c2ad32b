#include "tests/unit/gpu/random_cell.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "cells/ir/cell_builder.h"
#include "cells/model/reference.h"
#include "cells/ops/ops.h"
#include "tests/unit/device/cell_batch.h"

namespace volvox::gpu {

double distance(const std::vector<float>& got, const std::vector<double>& want) {
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    largest = std::max(largest, std::abs(want[i]));
  }
  return worst / largest;
}

Weights random_cell_weights(std::int64_t hidden) {
  return random_weights()
      .add("table", {kVocabulary, hidden})
      .add("w0", {hidden, hidden})
      .add("w1", {hidden, hidden})
      .add("bias", {hidden})
      .add("kernels", {2, 1, 4})
      .add("kernel_bias", {2})
      .weights();
}

namespace {

// Values so far, of one width, to draw the next operator's inputs from.
class Pool {
 public:
  Pool(CellBuilder& b, std::uint32_t seed, std::int64_t hidden) : b_(b), random_(seed), hidden_(hidden) {}

  void add(ValueId value, bool ragged) { (ragged ? ragged_ : plain_).push_back(value); }
  ValueId plain() { return plain_[random_() % plain_.size()]; }

  void grow() {
    const bool ragged = random_() % 3 == 0;
    const ValueId a = ragged ? ragged_[random_() % ragged_.size()] : plain();
    const ValueId b = plain();
    switch (random_() % 11) {
      case 0:
        return add(b_.add(a, b), ragged);
      case 1:
        return add(b_.mul(a, b), ragged);
      case 2:
        return add(b_.mul_add(a, b, plain()), ragged);
      case 3:
        return add(b_.sigmoid(a), ragged);
      case 4:
        return add(b_.tanh(a), ragged);
      case 5: {
        const std::int64_t seam =
            1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(hidden_ - 1));
        return add(b_.concat({b_.slice(a, seam, hidden_), b_.slice(a, 0, seam)}), ragged);
      }
      case 6:
        return add(b_.product({{"w0", a}}, {.bias = "bias"}), ragged);
      case 7:
        return add(b_.tanh(b_.product({{"w0", a}, {"w1", b}}, {.value = plain()})), ragged);
      case 8: {
        const Convolution halves{
            .width = hidden_, .kernels = 2, .kernel_width = 4, .stride = {1, 2}, .padding = {0, 1}};
        return add(b_.convolution(b, "kernels", halves, "kernel_bias"), false);
      }
      case 9:
        return add(b_.embed(b_.argmax(b), "table", hidden_), false);
      default:
        return ragged ? add(b_.segment_sum(a), false) : add(b_.product({{"w1", a}}, {}), false);
    }
  }

 private:
  CellBuilder& b_;
  std::mt19937 random_;
  std::int64_t hidden_;
  std::vector<ValueId> plain_, ragged_;
};

}  // namespace

Cell random_cell(std::uint32_t seed, std::int64_t hidden, const Weights& weights) {
  CellBuilder b("random");
  b.state({"h", {hidden}}).state({"c", {hidden}});
  Pool pool(b, seed, hidden);
  pool.add(b.embed(b.pull("token", DType::kI32), "table", hidden), false);
  for (std::uint32_t g = 0; g < 2; ++g) {
    const auto [h, c] = b.gather(g, {"h", "c"});
    pool.add(h, false);
    pool.add(c, false);
  }
  pool.add(b.gather_all("h"), true);
  pool.add(b.gather_all("c"), true);
  for (int i = 0; i < 12; ++i) pool.grow();
  const ValueId out = b.tanh(b.add(pool.plain(), pool.plain()));
  b.scatter("h", pool.plain());
  b.scatter("c", out);
  b.push("out", out);
  return b.build(&weights).value();
}

double least_margin(const Cell& cell, const Weights& weights, std::uint32_t rows) {
  double least = INFINITY;
  for (const Operator& op : cell.operators) {
    if (!op.is(kArgmaxOp)) continue;
    Cell probe = cell;  // its result is the operand
    for (Operator& last : probe.operators) {
      if (last.is(kPushOp)) last.inputs = op.inputs;
    }
    auto x = CellBatch(probe, weights, rows).in_evaluator<double, ReferenceMath>();
    const auto width = static_cast<std::ptrdiff_t>(x.size() / rows);
    for (auto row = x.begin(); row != x.end(); row += width) {
      std::partial_sort(row, row + 2, row + width, std::greater<>());
      least = std::min(least, (row[0] - row[1]) / std::max(1.0, std::abs(row[0])));
    }
  }
  return least;
}

}  // namespace volvox::gpu
