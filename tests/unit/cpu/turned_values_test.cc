#include "cpu/cells/turned_values.h"

#include <functional>

#include "cells/ir/cell_builder.h"
#include "cells/ops/ops.h"
#include "same_bits.h"

namespace volvox::cpu {
namespace {

constexpr Convolution kFirst{.channels = 3, .width = 8, .kernels = 6, .kernel_width = 3, .padding = {0, 1}};
// Over all of its channels, or half of them.
constexpr Convolution kSecond{
    .channels = 6, .width = 8, .kernels = 4, .kernel_width = 3, .stride = {1, 2}, .padding = {0, 1}};
constexpr Convolution kHalf{
    .channels = 3, .width = 8, .kernels = 4, .kernel_width = 3, .stride = {1, 2}, .padding = {0, 1}};

using Between = std::function<ValueId(CellBuilder&, ValueId)>;

struct Made {
  Weights weights;
  Cell cell;
};

// A cell that slides `second` over what lies between it and the first; its result has as many elements as a
// state.
Made two_convolutions(const Convolution& second, const Between& between, const Convolution& first = kFirst) {
  const std::int64_t hidden = first.inputs();
  Made made{RandomWeights()
                .add("first", first.weight_shape())
                .add("bias", {first.kernels})
                .add("second", second.weight_shape())
                .add("w", {hidden, second.outputs()})
                .add("table", {kVocabulary, hidden})
                .weights(),
            {}};
  CellBuilder b("two");
  b.state({"h", {hidden}}).state({"c", {hidden}});
  const auto [h, c] = b.gather(0, {"h", "c"});
  const ValueId one = b.convolution(b.add(h, c), "first", first, "bias");
  const ValueId two = b.convolution(between(b, one), "second", second);
  const ValueId out = b.product({{"w", b.tanh(two)}}, {});
  b.scatter("h", out);
  b.scatter("c", b.embed(b.pull("token", DType::kI32), "table", hidden));
  b.push("out", out);
  made.cell = b.build(&made.weights).value();
  return made;
}

ValueId output_of(const Cell& cell, const OpDef& def, std::size_t nth = 0) {
  for (const Operator& op : cell.operators) {
    if (op.is(def) && nth-- == 0) return op.output;
  }
  ADD_FAILURE() << "no such operator";
  return 0;
}

bool turns_first(const Made& made) {
  return find_turned(made.cell)[output_of(made.cell, kConvolutionOp)].is_turned();
}

TEST(TurnedValues, StayBetweenTwoConvolutions) {
  const Made made = two_convolutions(kSecond, [](CellBuilder& b, ValueId x) { return b.apply("relu", {x}); });
  const auto layouts = find_turned(made.cell);
  const ValueLayout turned{.positions = 8, .pitch = 6};
  EXPECT_EQ(layouts[output_of(made.cell, kConvolutionOp)], turned);
  EXPECT_EQ(layouts[output_of(made.cell, kReluOp)], turned);
  EXPECT_FALSE(layouts[output_of(made.cell, kConvolutionOp, 1)].is_turned()) << "a product reads it";
  expect_same_bits(made.cell, made.weights);
}

// As the size of complex numbers is made of their parts.
TEST(TurnedValues, PartsOfThemAreHalvesOfTheirChannels) {
  const Made made = two_convolutions(kHalf, [](CellBuilder& b, ValueId x) {
    const ValueId real = b.reshape(b.slice(x, 0, 24), {1, 3, 8}),
                  other = b.reshape(b.slice(x, 24, 48), {1, 3, 8});
    return b.apply("sqrt", {b.add(b.mul(real, real), b.mul(other, other))});
  });
  const auto layouts = find_turned(made.cell);
  EXPECT_EQ(layouts[output_of(made.cell, kSliceOp, 1)], (ValueLayout{.positions = 8, .pitch = 6}));
  EXPECT_EQ(layouts[output_of(made.cell, kSqrtOp)], (ValueLayout{.positions = 8, .pitch = 3}));
  expect_same_bits(made.cell, made.weights);
}

TEST(TurnedValues, AreReadInTwoPlaces) {
  const Made made = two_convolutions(kSecond, [](CellBuilder& b, ValueId x) {
    return b.add(b.apply("relu", {x}), b.mul_add(x, x, b.tanh(x)));
  });
  EXPECT_TRUE(turns_first(made));
  expect_same_bits(made.cell, made.weights);
}

// Each is read by somebody who wants it as its shape says.
TEST(TurnedValues, OthersStayAsTheirShapesSay) {
  const auto relu = [](CellBuilder& b, ValueId x) { return b.apply("relu", {x}); };
  Convolution gaps = kSecond, groups = kSecond, planes = kSecond;
  gaps.dilation = {1, 2};
  groups.groups = 2;
  planes.padding = {1, 1};
  Convolution in_groups = kFirst;
  in_groups.groups = 3;
  const std::pair<const char*, Made> cases[] = {
      {"windows with gaps are copied", two_convolutions(gaps, relu)},
      {"groups read some of the channels", two_convolutions(groups, relu)},
      {"so are those of planes", two_convolutions(planes, relu)},
      {"groups make some of the channels", two_convolutions(kSecond, relu, in_groups)},
      {"a slice of parts of channels",
       two_convolutions(kHalf, [](CellBuilder& b, ValueId x) { return b.tanh(b.slice(x, 4, 28)); })},
      {"windows over half of the channels are not dense",
       two_convolutions(kHalf, [](CellBuilder& b, ValueId x) { return b.slice(x, 0, 24); })},
      {"channels are positions",
       two_convolutions({.channels = 8, .width = 6, .kernels = 3, .kernel_width = 2}, relu)},
      {"an operand of another order", two_convolutions(kHalf,
                                                       [](CellBuilder& b, ValueId x) {
                                                         return b.mul(b.slice(x, 0, 24),
                                                                      b.gather(0, {"h"}).front());
                                                       })},
      {"a definition reads it", two_convolutions(kSecond,
                                                 [](CellBuilder& b, ValueId x) {
                                                   return b.apply("relu",
                                                                  {b.apply("log", {b.apply("exp", {x})})});
                                                 })},
  };
  for (const auto& [why, made] : cases) {
    EXPECT_FALSE(turns_first(made)) << why;
    expect_same_bits(made.cell, made.weights);
  }
}

TEST(TurnedValues, AllPositionsOfOneMayBeMoreThanABlock) {
  const Convolution first{.channels = 2, .width = 300, .kernels = 5, .kernel_width = 3, .padding = {0, 1}};
  const Convolution second{.channels = 5, .width = 300, .kernels = 2, .kernel_width = 4, .stride = {1, 3}};
  const Made made = two_convolutions(
      second, [](CellBuilder& b, ValueId x) { return b.tanh(x); }, first);
  EXPECT_TRUE(turns_first(made));
  expect_same_bits(made.cell, made.weights);
}

}  // namespace
}  // namespace volvox::cpu
