#include "tests/unit/gpu/cell_batch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "cells/cell_builder.h"
#include "cells/cell_program.h"
#include "cells/reference.h"

namespace volvox::gpu {

RandomWeights& RandomWeights::add(const std::string& name, Shape shape, float scale) {
  std::uniform_real_distribution<float> distribution(-scale, scale);
  auto& values = (*values_)[name];
  values.resize(static_cast<std::size_t>(elements(shape)));
  for (float& v : values) v = distribution(random_);
  tensors_[name] = {DType::kF32, std::move(shape), std::as_bytes(std::span(values))};
  return *this;
}

CellBatch::CellBatch(const Cell& cell, const Weights& weights, std::uint32_t rows)
    : cell_(cell),
      weights_(weights),
      random_(rows),
      width_(static_cast<std::size_t>(cell.states[0].shape[0])) {
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (auto* states : {&h_, &c_}) {
    states->resize(kSources * width_);
    for (float& v : *states) v = distribution(random_);
  }
  h_real_.assign(h_.begin(), h_.end());
  c_real_.assign(c_.begin(), c_.end());
  tokens_.resize(rows);
  for (std::uint32_t r = 0; r < rows; ++r) add_row(r);
}

void CellBatch::add_row(std::uint32_t r) {
  tokens_[r] = static_cast<std::int32_t>(random_() % kVocabulary);
  RowBinding row;
  row.length = 1;
  for (auto& gather : row.gathers) gather.base = any_source();
  row.out_base = kReservedSlots + kSources + r;
  row.ragged = {static_cast<std::uint32_t>(edges_.size()), static_cast<std::uint32_t>(random_() % 4), true};
  for (std::uint32_t e = 0; e < row.ragged.count; ++e) edges_.push_back(any_source());
  bindings_.push_back(row);
}

// A cell that publishes what it pulls: how states get onto the device.
Cell CellBatch::maker() const {
  const auto width = static_cast<std::int64_t>(width_);
  CellBuilder b("maker");
  b.state(cell_.states[0]).state(cell_.states[1]);
  b.scatter("h", b.pull("h", DType::kF32, {width}));
  b.scatter("c", b.pull("c", DType::kF32, {width}));
  return b.build().value();
}

DeviceAddress CellBatch::stage(Device& device, const void* bytes, std::size_t size) {
  const InputBlock block{{static_cast<const std::byte*>(bytes), size}, nullptr};
  pages_.push_back(device.stage({&block, 1}).value());
  return pages_.back()->addresses()[0];
}

void CellBatch::make_states(Device& device, Queue& queue) {
  Task task;
  task.seq = 1;
  task.type = 1;
  task.rows = task.padded_rows = kSources;
  RowBinding row;
  const auto stride = static_cast<std::uint32_t>(width_ * sizeof(float));
  row.pulls[0] = {stage(device, h_.data(), h_.size() * sizeof(float)), stride};
  row.pulls[1] = {stage(device, c_.data(), c_.size() * sizeof(float)), stride};
  row.length = row.span = row.out_ring = kSources;
  row.out_base = kReservedSlots;
  task.bindings.push_back(row);
  run(queue, task);
}

void CellBatch::run(Queue& queue, const Task& task) {
  const Status ok = queue.submit(task);
  ASSERT_TRUE(ok) << ok.error().message;
  ASSERT_TRUE(queue.wait(task.seq - 1, std::chrono::seconds(30)));
  ASSERT_EQ(queue.progress().error, "");
}

std::vector<float> CellBatch::on_device(Device& device, std::uint32_t padded, bool row_by_row) {
  EXPECT_TRUE(device.add_pool(0, cell_.states, kSources + 600));
  const auto compiled = device.compile(0, cell_, weights_, {.max_batch = 128});
  EXPECT_TRUE(compiled) << compiled.error().message;
  EXPECT_TRUE(device.compile(1, maker(), {}, {}));
  const auto queue = device.open({.name = "test"}).value();
  make_states(device, *queue);
  const DeviceAddress tokens = stage(device, tokens_.data(), tokens_.size() * sizeof(std::int32_t));
  const auto rows = static_cast<std::uint32_t>(bindings_.size());
  const auto results = device.results(rows * width_ * sizeof(float)).value();
  TaskSeq seq = 1;
  for (std::uint32_t first = 0; first < rows; first += row_by_row ? 1 : rows) {
    Task task;
    task.seq = ++seq;
    task.rows = row_by_row ? 1 : rows;
    task.padded_rows = std::max(padded, task.rows);
    task.edges = edges_;
    for (std::uint32_t r = first; r < first + task.rows; ++r) {
      task.bindings.push_back(bindings_[r]);
      task.bindings.back().pulls[0] = {tokens + r * sizeof(std::int32_t), 4};
      task.emits.push_back({r - first, 0, results.address + r * width_ * sizeof(float)});
    }
    run(*queue, task);
  }
  pages_.clear();  // before the device goes
  std::vector<float> read(rows * width_);
  std::memcpy(read.data(), results.host.get(), read.size() * sizeof(float));
  return read;
}

const double* CellBatch::state(const Operator& op, std::uint32_t slot) const {
  return (op.name == "h" ? h_real_ : c_real_).data() + (slot - kReservedSlots) * width_;
}

std::vector<double> CellBatch::in_reference() const {
  const CellProgram program = CellProgram::make(cell_, weights_).value();
  CellEvaluator<double, ReferenceMath> evaluator(program);
  std::vector<double> results(bindings_.size() * width_), unused(width_);
  for (std::size_t r = 0; r < bindings_.size(); ++r) {
    CellRow row;
    std::vector<const void*> gathers, ragged;
    for (const Operator& op : cell_.operators) {
      if (op.kind == OpKind::kGather) gathers.push_back(state(op, bindings_[r].gathers[op.index].base));
      if (op.kind != OpKind::kGatherAll) continue;
      for (std::uint32_t e = 0; e < bindings_[r].ragged.count; ++e) {
        ragged.push_back(state(op, edges_[bindings_[r].ragged.begin + e]));
      }
    }
    const std::vector<void*> scatters(program.count(OpKind::kScatter), unused.data());
    row.gathers = gathers;
    row.ragged = ragged;
    row.edges = bindings_[r].ragged.count;
    row.pulls[0] = &tokens_[r];
    row.scatters = scatters;
    row.pushes[0] = &results[r * width_];
    evaluator.run(row);
  }
  return results;
}

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
  return RandomWeights()
      .add("table", {kVocabulary, hidden})
      .add("w0", {hidden, hidden})
      .add("w1", {hidden, hidden})
      .add("bias", {hidden})
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
    switch (random_() % 9) {
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

}  // namespace volvox::gpu
