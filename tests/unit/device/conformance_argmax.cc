// The largest of a row, and what it is for, a decoder that feeds its own tokens back: part of what every
// device must do.

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "cells/ir/cell_builder.h"
#include "tests/unit/cells/random_weights.h"
#include "tests/unit/cells/row_runner.h"
#include "tests/unit/device/conformance.h"

namespace volvox {

using ::testing::ElementsAreArray;

namespace {

using testing_cells::bytes_of;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::values_of;

constexpr PoolId kTokens = 1;
constexpr CellTypeId kLargest = 1, kDecoder = 1;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Cell largest_cell(std::int64_t width) {
  CellBuilder b("largest");
  b.state({"token", {}, DType::kI32});
  const ValueId token = b.argmax(b.pull("x", DType::kF32, {width}));
  b.scatter("token", token);
  b.push("token", token);
  return b.build().value();
}

struct Row {
  std::vector<float> x;
  std::int32_t largest;
};

// Rows of one width whose largest element is known without looking for it.
std::vector<Row> rows_of(std::size_t width) {
  std::vector<Row> rows;
  const auto add = [&](float everywhere, const std::vector<std::pair<std::size_t, float>>& but,
                       std::size_t largest) {
    Row row{std::vector<float>(width, everywhere), static_cast<std::int32_t>(largest)};
    for (const auto& [k, value] : but) row.x[k] = value;
    rows.push_back(std::move(row));
  };
  const std::size_t last = width - 1, middle = width / 2;
  add(0, {}, 0);
  add(-3, {{last, -2}}, last);
  add(-kInf, {{middle, -1}}, middle);
  add(1, {{last, kInf}, {middle, kInf}}, middle);
  add(-kInf, {}, 0);
  add(kNan, {}, 0);
  add(kNan, {{middle, -kInf}}, middle);
  add(kNan, {{middle, -kInf}, {last, -5}}, last);
  add(-1, {{middle, 0.0F}, {last, -0.0F}}, middle);
  add(-1, {{middle, -0.0F}, {last, 0.0F}}, middle);
  if (width < 4) return rows;
  add(-2, {{0, kNan}, {1, -1}, {2, kNan}, {last, -1}}, 1);
  add(2, {{0, -kNan}, {1, kNan}, {last, -kNan}}, 2);
  return rows;
}

constexpr std::int64_t kHidden = 16, kInput = 12, kWords = 37;
constexpr std::int32_t kBegin = 3;  // the token in front of the first one
constexpr std::uint32_t kSteps = 12;
constexpr std::uint32_t kTokenBytes = sizeof(std::int32_t), kTokenRow = kSteps * kTokenBytes;
constexpr std::uint32_t kLogitBytes = kWords * sizeof(float), kLogitRow = kSteps * kLogitBytes;

// One step of a greedy decoder: an LSTM over the token before, and the next token from its logits. `voice`
// is what makes two decoders say different things.
Cell decoder_cell(const Weights& weights) {
  CellBuilder b("decoder");
  b.state({"h", {kHidden}}).state({"c", {kHidden}}).state({"token", {}, DType::kI32, kBegin});
  const ValueId voice = b.pull("voice", DType::kF32, {kInput});
  const auto [h, c, token] = b.gather(0, {"h", "c", "token"});
  const ValueId x = b.add(b.embed(token, "embedding"), voice);
  const ValueId z = b.product({{"weight_ih", x}, {"weight_hh", h}}, {.bias = "bias"});
  const auto gate = [&](std::int64_t n) { return b.slice(z, n * kHidden, (n + 1) * kHidden); };
  const ValueId in = b.mul(b.sigmoid(gate(0)), b.tanh(gate(2)));
  const ValueId c_next = b.mul_add(b.sigmoid(gate(1)), c, in);
  const ValueId h_next = b.mul(b.sigmoid(gate(3)), b.tanh(c_next));
  const ValueId logits = b.product({{"weight_out", h_next}}, {.bias = "bias_out"});
  const ValueId next = b.argmax(logits);
  b.scatter("h", h_next);
  b.scatter("c", c_next);
  b.scatter("token", next);
  b.push("token", next);
  b.push("logits", logits);
  return b.build(&weights).value();
}

Weights decoder_weights() {
  return RandomWeights()
      .add("embedding", {kWords, kInput}, 2.0F)
      .add("weight_ih", {4 * kHidden, kInput}, 1.0F)
      .add("weight_hh", {4 * kHidden, kHidden}, 1.0F)
      .add("bias", {4 * kHidden})
      .add("weight_out", {kWords, kHidden}, 4.0F)
      .add("bias_out", {kWords})
      .weights();
}

struct Said {
  std::vector<std::int32_t> tokens;
  std::vector<double> logits;  // kWords for each step
  double margin = kInf;        // by which the largest logit is ahead of the next one, at least
};

// The same decoder in double precision.
Said say_exactly(const Cell& cell, const Weights& weights, std::span<const float> voices) {
  RowRunner<double> runner(cell, weights);
  const std::vector<double> zeros(kHidden, 0.0);
  NodeState state{
      {"h", bytes_of(zeros)}, {"c", bytes_of(zeros)}, {"token", bytes_of(std::vector<std::int32_t>{kBegin})}};
  Said said;
  for (std::size_t at = 0; at < voices.size(); at += kInput) {
    NodeResult node = runner.run({&state}, {voices.data() + at});
    said.tokens.push_back(values_of<std::int32_t>(node.pushes.at("token")).front());
    auto logits = values_of<double>(node.pushes.at("logits"));
    said.logits.insert(said.logits.end(), logits.begin(), logits.end());
    std::partial_sort(logits.begin(), logits.begin() + 2, logits.end(), std::greater<>());
    said.margin = std::min(said.margin, logits[0] - logits[1]);
    state = std::move(node.states);
  }
  return said;
}

// A row of the cohort, from step `joins` to the last.
struct Decoder {
  std::uint32_t joins;
  std::vector<float> voices;
};

RowBinding binding_of(std::uint32_t row, std::uint32_t joins, DeviceAddress voices, DeviceAddress tokens,
                      DeviceAddress logits) {
  RowBinding b;
  b.out_base = kReservedSlots + 2 * row;
  b.out_ring = 2;
  b.gathers[0] = {b.out_base, 2, -1, 1, kInitialSlot};
  b.pulls[0] = {voices, kInput * sizeof(float)};
  b.pushes[0] = {tokens + row * kTokenRow, kTokenBytes};
  b.pushes[1] = {logits + row * kLogitRow, kLogitBytes};
  b.length = kSteps - joins;
  b.start = joins;
  return b;
}

std::vector<float> random_voices(std::uint32_t seed, std::size_t steps) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> voices(steps * kInput);
  for (float& v : voices) v = distribution(random);
  return voices;
}

}  // namespace

TEST_P(DeviceConformance, FindsTheFirstOfTheLargest) {
  const std::vector<StateKind> kinds = {{"token", {}, DType::kI32, 0}};
  ASSERT_TRUE(device_->add_pool(kTokens, kinds, 40));
  auto queue = open();
  TaskSeq seq = 0;
  for (const std::int64_t width : {1, 2, 5, 64, 1000}) {
    const auto compiled = device_->compile(kLargest, largest_cell(width), Weights{}, {.out_pool = kTokens});
    ASSERT_TRUE(compiled) << compiled.error().message;
    const std::vector<Row> rows = rows_of(static_cast<std::size_t>(width));
    const DeviceAddress out = results<std::int32_t>(rows.size());
    std::vector<std::int32_t> want;
    Task task;
    task.seq = ++seq;
    task.type = kLargest;
    task.rows = task.padded_rows = static_cast<std::uint32_t>(rows.size());
    for (const Row& row : rows) {
      RowBinding b;
      b.pulls[0] = {stage(row.x), 0};
      b.pushes[0] = {out + want.size() * sizeof(std::int32_t), 0};
      b.out_base = kReservedSlots + static_cast<std::uint32_t>(want.size());
      b.length = 1;
      task.bindings.push_back(b);
      want.push_back(row.largest);
    }
    run(*queue, task);
    EXPECT_THAT(read<std::int32_t>(out, rows.size()), ElementsAreArray(want)) << width << " wide";
    device_->remove_type(kLargest);
  }
}

// All steps are submitted before the first token is known: it never visits the host.
TEST_P(DeviceConformance, FeedsTokensBack) {
  if (!GetParam().computes_products) GTEST_SKIP() << "this device computes only what is cheap";
  const Weights weights = decoder_weights();
  const Cell cell = decoder_cell(weights);
  ASSERT_TRUE(device_->add_pool(kTokens, cell.states, 20));
  const auto compiled = device_->compile(kDecoder, cell, weights,
                                         {.out_pool = kTokens, .gather_pools = {kTokens}, .max_batch = 8});
  ASSERT_TRUE(compiled) << compiled.error().message;
  std::vector<Decoder> decoders{{0, {}}, {1, {}}, {4, {}}};
  for (Decoder& d : decoders) d.voices = random_voices(d.joins, kSteps - d.joins);
  const DeviceAddress tokens = results<std::int32_t>(decoders.size() * kSteps);
  const DeviceAddress logits = results<float>(decoders.size() * kSteps * kWords);
  std::vector<Task> tasks;
  std::uint32_t rows = 0;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    Task& task = tasks.emplace_back(cohort(step + 1, step, rows));
    task.type = kDecoder;
    if (rows == decoders.size() || decoders[rows].joins != step) continue;
    task.bindings = {binding_of(rows, step, stage(decoders[rows].voices), tokens, logits)};
    task.changes = {{rows, RowChange::kBind, 0}};
    task.rows = task.padded_rows = ++rows;
  }
  auto queue = open();
  for (const Task& task : tasks) ASSERT_TRUE(queue->submit(task));
  wait_until(*queue, kSteps);

  std::set<std::int32_t> spoken;
  for (std::size_t row = 0; row < decoders.size(); ++row) {
    const std::size_t steps = kSteps - decoders[row].joins;
    const Said want = say_exactly(cell, weights, decoders[row].voices);
    ASSERT_GT(want.margin, 1e-2) << "float32 may choose another token";
    EXPECT_THAT(read<std::int32_t>(tokens + row * kTokenRow, steps), ElementsAreArray(want.tokens));
    const auto got = read<float>(logits + row * kLogitRow, steps * kWords);
    for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], want.logits[k], 1e-4) << "row " << row;
    spoken.insert(want.tokens.begin(), want.tokens.end());
  }
  ASSERT_GE(spoken.size(), 8U) << "a decoder that repeats itself shows nothing";
}

}  // namespace volvox
