#include "cpu/cells/generic_cell.h"

#include "cells/cell_builder.h"
#include "cells/cell_program.h"
#include "cells/evaluate.h"
#include "chain_fixture.h"

// Cells without a kernel of their own, compared bit by bit with the evaluator of the cells folder, which
// knows nothing of chunks, packing or vectors; only the activations are ours.
namespace volvox::cpu {
namespace {

struct OurMath {
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float sigmoid(float x) { return apply(&Kernels::sigmoid, x); }
  static float tanh(float x) { return apply(&Kernels::tanh, x); }
  static float chain(float start, const float* w, const float* x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) start = std::fma(w[k], x[k], start);
    return start;
  }
  static float apply(void (*Kernels::*f)(const float*, float*, std::size_t), float x) {
    float y = 0;
    (portable_kernels()->*f)(&x, &y, 1);
    return y;
  }
};

// One batch of nodes of a cell with states h and c, with random states and tokens, on a device and in the
// evaluator.
class Batch {
 public:
  Batch(const Cell& cell, const Weights& weights, std::uint32_t rows)
      : cell_(cell),
        weights_(weights),
        random_(rows),
        hidden_(static_cast<std::size_t>(cell.states[0].shape[0])) {
    h_ = draw(kSources * hidden_);
    c_ = draw(kSources * hidden_);
    tokens_.resize(rows);
    for (std::uint32_t r = 0; r < rows; ++r) add_row(r);
  }

  std::vector<float> on_device(CpuOptions options) {
    options.measure = false;
    const auto device = CpuDevice::make(options).value();
    EXPECT_TRUE(device->add_pool(0, cell_.states, kSources + 600));
    EXPECT_TRUE(device->compile(0, cell_, weights_, {.max_batch = 512}));
    EXPECT_TRUE(device->compile(1, maker(), {}, {}));
    const auto queue = device->open({.name = "test", .threads = options.threads}).value();
    run(*queue, make_states());
    std::vector<float> results(bindings_.size() * hidden_);
    Task task;
    task.seq = 2;
    task.rows = task.padded_rows = static_cast<std::uint32_t>(bindings_.size());
    task.bindings = bindings_;
    task.edges = edges_;
    for (std::uint32_t r = 0; r < task.rows; ++r) {
      task.emits.push_back({r, 0, address_of(&results[r * hidden_])});
    }
    run(*queue, task);
    return results;
  }

  std::vector<float> in_evaluator() {
    const CellProgram program = CellProgram::make(cell_, weights_).value();
    CellEvaluator<float, OurMath> evaluator(program);
    std::vector<float> results(bindings_.size() * hidden_), unused(hidden_);
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
      row.pushes[0] = &results[r * hidden_];
      evaluator.run(row);
    }
    return results;
  }

 private:
  static constexpr std::uint32_t kSources = 40;  // slots 2 … 41

  std::vector<float> draw(std::size_t n) {
    std::uniform_real_distribution<float> distribution(-1, 1);
    std::vector<float> values(n);
    for (float& v : values) v = distribution(random_);
    return values;
  }
  std::uint32_t any_source() { return kReservedSlots + static_cast<std::uint32_t>(random_() % kSources); }

  void add_row(std::uint32_t r) {
    tokens_[r] = static_cast<std::int32_t>(random_() % kVocabulary);
    RowBinding row;
    row.length = 1;
    row.pulls[0] = {address_of(&tokens_[r]), 4};
    for (auto& gather : row.gathers) gather.base = any_source();
    row.out_base = kReservedSlots + kSources + r;
    row.ragged = {static_cast<std::uint32_t>(edges_.size()), static_cast<std::uint32_t>(random_() % 4), true};
    for (std::uint32_t e = 0; e < row.ragged.count; ++e) edges_.push_back(any_source());
    bindings_.push_back(row);
  }
  const float* state(const Operator& op, std::uint32_t slot) const {
    return (op.name == "h" ? h_ : c_).data() + (slot - kReservedSlots) * hidden_;
  }

  // A cell that publishes what it pulls: how states get onto the device.
  Cell maker() const {
    const auto width = static_cast<std::int64_t>(hidden_);
    CellBuilder b("maker");
    b.state(cell_.states[0]).state(cell_.states[1]);
    b.scatter("h", b.pull("h", DType::kF32, {width}));
    b.scatter("c", b.pull("c", DType::kF32, {width}));
    return b.build().value();
  }
  Task make_states() const {
    Task task;
    task.seq = 1;
    task.type = 1;
    task.rows = task.padded_rows = kSources;
    RowBinding row;
    const auto stride = static_cast<std::uint32_t>(hidden_ * sizeof(float));
    row.pulls[0] = {address_of(h_.data()), stride};
    row.pulls[1] = {address_of(c_.data()), stride};
    row.length = row.span = row.out_ring = kSources;
    row.out_base = kReservedSlots;
    task.bindings.push_back(row);
    return task;
  }
  static void run(Queue& queue, const Task& task) {
    ASSERT_TRUE(queue.submit(task));
    ASSERT_TRUE(queue.wait(task.seq - 1, std::chrono::seconds(30)));
    ASSERT_EQ(queue.progress().error, "");
  }

  Cell cell_;
  Weights weights_;
  std::mt19937 random_;
  std::size_t hidden_;
  std::vector<float> h_, c_;
  std::vector<std::int32_t> tokens_;
  std::vector<RowBinding> bindings_;
  std::vector<std::uint32_t> edges_;
};

void expect_same_bits(const Cell& cell, const Weights& weights) {
  for (std::uint32_t rows : {1U, 2U, 13U, 200U}) {
    Batch batch(cell, weights, rows);
    const auto want = batch.in_evaluator();
    for (Isa isa : supported_isas()) {
      for (std::uint32_t threads : {1U, 2U}) {
        ASSERT_EQ(batch.on_device({.isa = isa, .threads = threads}), want)
            << cell.name << ", " << rows << " rows, " << to_string(isa) << ", " << threads << " threads";
      }
    }
  }
}

TEST(GenericCell, RunsTreeLstmLeavesAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = RandomWeights()
                                .add("t.leaf.embedding", {kVocabulary, 9})
                                .add("t.leaf.weight", {3 * hidden, 9})
                                .add("t.leaf.bias", {3 * hidden})
                                .weights();
    expect_same_bits(tree_lstm_leaf_cell("leaf", "t", {9, hidden}, &weights).value(), weights);
  }
}

TEST(GenericCell, RunsBinaryTreesAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = RandomWeights()
                                .add("t.internal.left", {5 * hidden, hidden})
                                .add("t.internal.right", {5 * hidden, hidden})
                                .add("t.internal.bias", {5 * hidden})
                                .weights();
    expect_same_bits(tree_lstm_internal_cell("internal", "t", {9, hidden}, &weights).value(), weights);
  }
}

TEST(GenericCell, RunsRaggedPredecessorsAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = RandomWeights()
                                .add("sum.embedding", {kVocabulary, 9})
                                .add("sum.weight", {3 * hidden, 9})
                                .add("sum.children", {3 * hidden, hidden})
                                .add("sum.bias", {3 * hidden})
                                .add("sum.forget_weight", {hidden, 9})
                                .add("sum.forget_child", {hidden, hidden})
                                .add("sum.forget_bias", {hidden})
                                .weights();
    expect_same_bits(child_sum_cell("sum", {9, hidden}, &weights).value(), weights);
  }
}

// Every operator that the library's cells leave out, ragged and not.
TEST(GenericCell, RunsTheOtherOperatorsAsTheEvaluatorDoes) {
  constexpr std::int64_t kHidden = 18;
  const Weights weights =
      RandomWeights().add("w", {kHidden, 2 * kHidden}).add("table", {kVocabulary, 6}).weights();
  CellBuilder b("others");
  b.state({"h", {kHidden}}).state({"c", {kHidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), "table", 6);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId all = b.gather_all("h");
  const ValueId mixed = b.product({{"w", b.concat({all, c})}}, {.value = b.add(h, c)});
  const ValueId sum = b.segment_sum(b.tanh(mixed));
  const ValueId joined = b.concat({b.slice(sum, 3, 12), b.slice(h, 0, 3), x});
  const ValueId out = b.product({{"w", b.concat({joined, b.mul(h, c)})}}, {});
  b.scatter("h", b.add(out, sum));
  b.scatter("c", c);
  b.push("out", out);
  expect_same_bits(b.build(&weights).value(), weights);
}

TEST(GenericCell, RefusesSlotsThatAreNotThere) {
  const Weights weights = lstm_weights(4, 4);
  const Cell cell = lstm_cell("lstm", {4, 4}, &weights).value();
  for (bool fuse : {true, false}) {
    const auto device = CpuDevice::make({.measure = false, .fuse = fuse}).value();
    ASSERT_TRUE(device->add_pool(0, cell.states, 10));
    ASSERT_TRUE(device->compile(0, cell, weights, {}));
    for (bool reads : {true, false}) {
      const auto queue = device->open({.name = "test"}).value();
      Task task;
      task.seq = 1;
      task.rows = task.padded_rows = 1;
      task.bindings.emplace_back();
      (reads ? task.bindings[0].gathers[0].base : task.bindings[0].out_base) = 10;
      ASSERT_TRUE(queue->submit(task));
      ASSERT_TRUE(queue->wait(0, std::chrono::seconds(10)));
      EXPECT_EQ(queue->progress().first_failed, 1U);
    }
  }
}

}  // namespace
}  // namespace volvox::cpu
