#include "cpu/cells/generic_cell.h"

#include <initializer_list>
#include <utility>

#include "cells/ir/cell_builder.h"
#include "cells/ir/mirror.h"
#include "cells/library/gru.h"
#include "cells/library/lstm.h"
#include "chain_fixture.h"
#include "same_bits.h"
#include "tests/unit/device/convolution_cell.h"

// Cells without a kernel of their own, compared bit by bit with the evaluator of the cells folder, which
// knows nothing of chunks, packing or vectors; only the activations are ours.
namespace volvox::cpu {
namespace {

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
  const ValueId named = b.embed(b.argmax(b.slice(b.add(sum, c), 1, kHidden)), "table", 6);
  const ValueId joined = b.concat({b.slice(sum, 3, 12), b.slice(h, 0, 3), b.add(x, named)});
  const ValueId out = b.product({{"w", b.concat({joined, b.mul(h, c)})}}, {});
  b.scatter("h", b.add(out, sum));
  b.scatter("c", c);
  b.push("out", out);
  expect_same_bits(b.build(&weights).value(), weights);
}

// Pointwise operators in a row, which run row by row: with values that only these read, that others read,
// too, as a whole or a part of them, and that are one number; some at the end, whose value nobody reads.
TEST(GenericCell, RunsPointwiseOperatorsTogetherAsTheEvaluatorDoes) {
  constexpr std::int64_t kHidden = 37;
  const Weights weights =
      RandomWeights().add("w", {kHidden, kHidden + 6}).add("table", {kVocabulary, kHidden}).weights();
  CellBuilder b("pointwise");
  b.state({"h", {kHidden}}).state({"c", {kHidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), "table", kHidden);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId first = b.tanh(b.add(x, h));
  const ValueId part = b.slice(first, 30, 35);
  const ValueId one = b.sigmoid(b.tanh(b.slice(first, 1, 2)));
  const ValueId passes = b.mul(first, c);
  const ValueId kept = b.apply("relu", {b.mul_add(passes, x, b.apply("sub", {passes, h}))});
  const ValueId out = b.product({{"w", b.concat({kept, part, one})}}, {});
  const ValueId last = b.tanh(b.add(b.mul(out, kept), out));
  b.tanh(b.mul(last, last));
  b.scatter("h", last);
  b.scatter("c", kept);
  b.push("out", out);
  expect_same_bits(b.build(&weights).value(), weights);
}

// One table, looked up by several ids, for which there is no kernel, and by one, for which there is.
TEST(GenericCell, LooksUpSeveralRowsAndOne) {
  constexpr std::int64_t kHidden = 18;
  const Weights weights = RandomWeights().add("table", {kVocabulary, kHidden}).weights();
  CellBuilder b("lookups");
  b.state({"h", {kHidden}}).state({"c", {kHidden}});
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId two = b.embed(b.apply("to_i32", {b.slice(c, 0, 2)}), "table", kHidden);
  const ValueId one = b.embed(b.pull("token", DType::kI32), "table", kHidden);
  const ValueId out = b.add(b.slice(b.reshape(two, {2 * kHidden}), 9, 9 + kHidden), b.add(one, h));
  b.scatter("h", out);
  b.scatter("c", b.add(c, one));
  b.push("out", out);
  expect_same_bits(b.build(&weights).value(), weights);
}

// Two products of 2 MiB and more, whose columns the team shares, and what stands before, between and behind.
TEST(GenericCell, RunsWideProductsAsTheEvaluatorDoes) {
  constexpr std::int64_t kHidden = 40, kWide = 13'200;
  const Weights weights = RandomWeights()
                              .add("table", {kVocabulary, kHidden})
                              .add("w", {kWide, kHidden})
                              .add("u", {kHidden, kWide})
                              .add("b", {kHidden})
                              .weights();
  CellBuilder b("wide");
  b.state({"h", {kHidden}}).state({"c", {kHidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), "table", kHidden);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId wide = b.product({{"w", b.add(x, h)}}, {});
  const ValueId back = b.product({{"u", b.tanh(wide)}}, {.bias = "b"});
  b.scatter("h", b.tanh(back));
  b.scatter("c", b.add(c, back));
  b.push("out", back);
  expect_same_bits(b.build(&weights).value(), weights);
}

// Weights of 2 MB in all, which are read in stages: what crosses from one to the next is a vector, a part of
// one, one number, what is looked up by one; states and inputs are read by the last one, too.
TEST(GenericCell, RunsInStagesAsTheEvaluatorDoes) {
  constexpr std::int64_t kHidden = 40, kBroad = 1'500;
  const Weights weights = RandomWeights()
                              .add("table", {kVocabulary, kHidden})
                              .add("w0", {kBroad, 2 * kHidden})
                              .add("w1", {kHidden, kBroad})
                              .add("w2", {kBroad, kHidden + 3})
                              .add("w3", {kHidden, kBroad + 1 + kHidden})
                              .add("b", {kHidden})
                              .weights();
  CellBuilder b("stages");
  b.state({"h", {kHidden}}).state({"c", {kHidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), "table", kHidden);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId first = b.tanh(b.product({{"w0", b.concat({x, h})}}, {}));
  const ValueId one = b.sigmoid(b.slice(first, 7, 8));
  const ValueId named = b.embed(b.argmax(b.slice(first, 20, 20 + kVocabulary)), "table", kHidden);
  const ValueId second = b.product({{"w1", first}}, {.bias = "b"});
  b.scatter("h", second);
  const ValueId third = b.product({{"w2", b.concat({b.tanh(second), b.slice(first, 9, 12)})}}, {});
  const ValueId last = b.product({{"w3", b.concat({b.apply("relu", {third}), one, named})}}, {});
  b.scatter("c", b.mul_add(last, b.add(c, x), b.reshape(second, {kHidden})));
  b.push("out", b.tanh(last));
  expect_same_bits(b.build(&weights).value(), weights);
}

// So much crosses from stage to stage that the rows of a task take turns.
TEST(GenericCell, HandsBroadRowsFromStageToStageAsTheEvaluatorDoes) {
  constexpr std::int64_t kHidden = 40, kBroad = 1'500, kMiddle = 120;
  const Weights weights = RandomWeights()
                              .add("table", {kVocabulary, kHidden})
                              .add("w0", {kBroad, 2 * kHidden})
                              .add("w1", {kMiddle, kBroad})
                              .add("w2", {kHidden, kMiddle})
                              .weights();
  CellBuilder b("broad");
  b.state({"h", {kHidden}}).state({"c", {kHidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), "table", kHidden);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId broad = b.tanh(b.product({{"w0", b.concat({x, h})}}, {}));
  const ValueId last = b.product({{"w2", b.tanh(b.product({{"w1", broad}}, {}))}}, {});
  b.scatter("h", b.add(last, x));
  b.scatter("c", b.add(c, last));
  b.push("out", last);
  expect_same_bits(b.build(&weights).value(), weights);
}

// An operator without a kernel runs as its definition says; over all predecessors, and over one row.
TEST(GenericCell, RunsOperatorsThatItHasNoKernelForAsTheEvaluatorDoes) {
  constexpr std::int64_t kHidden = 18;
  const Weights weights = RandomWeights().add("table", {kVocabulary, kHidden}).weights();
  CellBuilder b("unknown");
  b.state({"h", {kHidden}}).state({"c", {kHidden}});
  const ValueId x = b.embed(b.pull("token", DType::kI32), "table", kHidden);
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId all = b.gather_all("h");
  const ValueId sum = b.segment_sum(b.apply("relu", {b.apply("sub", {all, x})}));
  const ValueId out = b.apply("relu", {b.apply("sub", {b.add(sum, c), h})});
  b.scatter("h", out);
  b.scatter("c", c);
  b.push("out", out);
  expect_same_bits(b.build(&weights).value(), weights);
}

TEST(GenericCell, RunsAGruAsTheEvaluatorDoes) {
  constexpr std::int64_t kHidden = 20;
  const Weights weights = RandomWeights()
                              .add("gru.embedding", {kVocabulary, 9})
                              .add("gru.weight_ih", {3 * kHidden, 9})
                              .add("gru.weight_hh", {3 * kHidden, kHidden})
                              .add("gru.bias_ih", {3 * kHidden})
                              .add("gru.bias_hh", {3 * kHidden})
                              .weights();
  expect_same_bits(gru_cell("gru", {9, kHidden}, &weights).value(), weights);
}

// Windows over a state: with fewer positions than a block of rows has, and with more; of one element or none
// that lies in the state; in groups; with gaps; with kernels that do not fill their blocks.
TEST(GenericCell, RunsConvolutionsAsTheEvaluatorDoes) {
  const Convolution ends{.channels = 6, .width = 5, .kernels = 70, .kernel_width = 3, .padding = {0, 4}};
  const Convolution single{.channels = 20, .kernels = 33, .kernel_width = 3, .padding = {0, 1}};
  const Convolution strides{
      .channels = 8, .width = 4, .kernels = 130, .kernel_width = 3, .stride = {1, 2}, .padding = {0, 1}};
  const Convolution groups{
      .channels = 6, .width = 7, .kernels = 4, .kernel_width = 2, .padding = {0, 1}, .groups = 2};
  const Convolution alone{.channels = 5, .width = 9, .kernels = 5, .kernel_width = 3, .groups = 5};
  const Convolution gaps{
      .channels = 3, .width = 9, .kernels = 6, .kernel_width = 3, .padding = {0, 2}, .dilation = {1, 2}};
  const Convolution lines{.channels = 3, .width = 9, .kernels = 4, .kernel_width = 3, .padding = {1, 1}};
  for (const Convolution& c : {kPlanes, line_of(450), ends, single, strides, groups, alone, gaps, lines}) {
    const ConvolutionCell made = convolution_cell(c, RandomWeights());
    expect_same_bits(made.cell, made.weights);
  }
}

// Heads of one number and of many, whose widths fill registers or do not: scores, shares, and the sum of what
// they weigh, which is read by nothing else, or once more.
TEST(GenericCell, AttendsAsTheEvaluatorDoes) {
  for (const auto& [heads, width] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {3, 5}, {2, 16}, {1, 33}, {5, 64}, {2, 150}}) {
    for (const bool again : {false, true}) {
      const std::int64_t hidden = heads * width;
      const Weights weights = RandomWeights().add("table", {kVocabulary, hidden}).weights();
      CellBuilder b("attention");
      b.state({"h", {hidden}}).state({"c", {hidden}});
      const ValueId x = b.embed(b.pull("token", DType::kI32), "table", hidden);
      const auto [h, c] = b.gather(0, {"h", "c"});
      const ValueId all = b.reshape(b.gather_all("h"), {heads, width});
      const ValueId shares =
          b.apply("segment_softmax", {b.apply("dot", {all, b.reshape(x, {heads, width})})});
      const ValueId weighed = again ? b.mul(all, shares) : b.mul(shares, all);
      ValueId out = b.reshape(b.segment_sum(weighed), {hidden});
      if (again) out = b.add(out, b.reshape(b.segment_sum(b.tanh(weighed)), {hidden}));
      b.scatter("h", b.add(out, h));
      b.scatter("c", b.add(c, x));
      b.push("out", out);
      expect_same_bits(b.build(&weights).value(), weights);
    }
  }
}

double flops_of(const ConvolutionCell& made) {
  const auto device = CpuDevice::make({.measure = false}).value();
  EXPECT_TRUE(device->add_pool(0, made.cell.states, 10));
  return device->compile(0, made.cell, made.weights, {}).value().flops_per_row;
}

// Kernels that mirror themselves about axis / 2, the first `even` of them even; with `twins` these, too.
struct MirrorCase {
  Convolution c;
  std::size_t axis, even;
};

void expect_same_bits_mirrored(const MirrorCase& one, bool twins) {
  const ConvolutionCell made = convolution_cell(one.c, RandomWeights(), [&](std::vector<float>& kernels) {
    const auto width = static_cast<std::size_t>(one.c.kernel_width);
    mirror_kernels(kernels, width, one.axis, one.even);
    if (twins) twin_kernels(kernels, width, one.even);
  });
  const Mirror mirror = find_mirror(slid(made.cell), made.weights.find("kernels")->f32(), false);
  ASSERT_TRUE(mirror);
  ASSERT_EQ(mirror.phases, twins ? 2 : 1);
  expect_same_bits(made.cell, made.weights);
}

// Kernels that mirror themselves, about the middle or about a sample: even ones, odd ones, both; with
// strides, padding, one position, and more than a block of rows has.
TEST(GenericCell, RunsMirroredConvolutionsAsTheEvaluatorDoes) {
  const Convolution frames{.width = 71, .kernels = 50, .kernel_width = 34, .stride = {1, 19}};
  const Convolution padded{
      .width = 47, .kernels = 33, .kernel_width = 33, .stride = {1, 9}, .padding = {0, 20}};
  const Convolution single{.width = 40, .kernels = 18, .kernel_width = 40};
  const Convolution many{.width = 250, .kernels = 16, .kernel_width = 32};
  for (const MirrorCase& one :
       {MirrorCase{frames, 34, 20}, MirrorCase{padded, 32, 0}, MirrorCase{padded, 31, 33},
        MirrorCase{single, 39, 9}, MirrorCase{many, 30, 11}})
    expect_same_bits_mirrored(one, false);
  const auto mirror = [&](std::vector<float>& kernels) { mirror_kernels(kernels, 34, 34, 20); };
  EXPECT_LT(flops_of(convolution_cell(frames, RandomWeights(), mirror)),
            0.8 * flops_of(convolution_cell(frames, RandomWeights())));
}

// Likewise those that are twins: even and odd numbers of them, windows that begin at even and odd samples,
// inputs of an even and an odd length.
TEST(GenericCell, RunsTwinsAsTheEvaluatorDoes) {
  const Convolution frames{.width = 71, .kernels = 50, .kernel_width = 34, .stride = {1, 19}};
  const Convolution padded{
      .width = 48, .kernels = 33, .kernel_width = 33, .stride = {1, 9}, .padding = {0, 21}};
  const Convolution single{.width = 40, .kernels = 19, .kernel_width = 40};
  const Convolution many{.width = 250, .kernels = 37, .kernel_width = 32};
  for (const MirrorCase& one :
       {MirrorCase{frames, 34, 20}, MirrorCase{frames, 32, 17}, MirrorCase{padded, 32, 0},
        MirrorCase{padded, 32, 33}, MirrorCase{single, 40, 19}, MirrorCase{many, 30, 17}})
    expect_same_bits_mirrored(one, true);
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
      task.bindings.emplace_back().length = 1;
      (reads ? task.bindings[0].gathers[0].base : task.bindings[0].out_base) = 10;
      ASSERT_TRUE(queue->submit(task));
      ASSERT_TRUE(queue->wait(0, std::chrono::seconds(10)));
      EXPECT_EQ(queue->progress().first_failed, 1U);
    }
  }
}

}  // namespace
}  // namespace volvox::cpu
