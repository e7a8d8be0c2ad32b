#include <gmock/gmock.h>

#include "cells/ir/cell_builder.h"
#include "tests/unit/cells/random_weights.h"
#include "tests/unit/gpu/backends.h"

// What a GPU cannot run is said when a model is loaded, by name.
namespace volvox::gpu {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Cell& cell, const Weights& weights = {}) {
  const auto device = GpuDevice::make(std::make_shared<FakeDriver>(), small_device()).value();
  const auto compiled = device->compile(0, cell, weights, {.max_batch = 4});
  return compiled ? "" : compiled.error().message;
}

TEST(RefusedCells, AreNamedByTheirOperator) {
  for (const char* op : {"exp", "softmax", "neg"}) {
    CellBuilder b("cell");
    b.push("y", b.apply(op, {b.pull("x", DType::kF32, {6})}));
    EXPECT_THAT(refusal(b.build().value()), HasSubstr("'" + std::string(op) + "' is not supported on a GPU"));
  }
}

TEST(RefusedCells, HaveOperandsOfDifferentShapes) {
  for (const std::int64_t width : {6, 1}) {
    CellBuilder b("cell");
    b.push("y", b.add(b.pull("x", DType::kF32, {6}), b.pull("z", DType::kF32, {width})));
    const std::string said = refusal(b.build().value());
    EXPECT_EQ(said.find("'add' needs inputs of one shape on a GPU") != said.npos, width == 1) << said;
    EXPECT_EQ(said.empty(), width == 6) << said;
  }
}

TEST(RefusedCells, HaveConvolutionsWithGroupsOrGaps) {
  Convolution c{.channels = 2, .width = 3, .kernels = 2, .kernel_width = 2};
  for (const std::int64_t groups : {1, 2}) {
    for (const std::int64_t gap : {1, 2}) {
      c.groups = groups;
      c.dilation[1] = gap;
      const Weights weights = RandomWeights().add("w", c.weight_shape()).weights();
      CellBuilder b("cell");
      b.push("y", b.convolution(b.pull("x", DType::kF32, {6}), "w", c));
      const std::string said = refusal(b.build(&weights).value(), weights);
      const bool refused = groups > 1 || gap > 1;
      EXPECT_EQ(said.find("with groups or gaps is not supported on a GPU") != said.npos, refused) << said;
      EXPECT_EQ(said.empty(), !refused) << said;
    }
  }
}

}  // namespace
}  // namespace volvox::gpu
