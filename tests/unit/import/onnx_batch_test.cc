// An open axis that is read as a batch: graphs that mix what lies along it are none of one step.
#include <algorithm>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "tests/unit/import/onnx_testing.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing_onnx::golden;

using OnnxBatch = testing_onnx::OnnxTest;

TEST_F(OnnxBatch, RefusesWhatMixesIt) {
  for (const auto& one : golden()["batches"]["mixing"]) {
    SCOPED_TRACE(one["name"].get<std::string>());
    OnnxImport import = of(one);
    EXPECT_TRUE(import_onnx(import));  // whoever says how long the axis is knows what they want
    const auto shapes = std::exchange(import.shapes, {});
    const auto done = import_onnx(import);
    ASSERT_FALSE(done) << *done;
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(done.error().message, HasSubstr("input 'x' leaves its axis 0 open"));
    EXPECT_THAT(done.error().message, HasSubstr("but the graph mixes what lies along it"));
    for (const auto& [name, shape] : shapes)
      EXPECT_THAT(done.error().message, HasSubstr("--shape " + name + "=1"));
  }
}

TEST_F(OnnxBatch, TakesRowsThatStayApart) {
  for (const auto& one : golden()["batches"]["apart"]) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const auto done = import_onnx(of(one));
    EXPECT_TRUE(done) << done.error().message;
  }
}

// An output that nobody keeps may be what it likes.
TEST_F(OnnxBatch, LooksAtWhatIsKept) {
  const auto& mixing = golden()["batches"]["mixing"];
  const auto is_it = [](const auto& one) { return one["name"] == "other_output"; };
  const auto found = std::find_if(mixing.begin(), mixing.end(), is_it);
  ASSERT_NE(found, mixing.end());
  OnnxImport import = of(*found);
  import.shapes.clear();
  import.outputs = {"y"};
  EXPECT_TRUE(import_onnx(import));
  import.outputs = {"other"};
  EXPECT_FALSE(import_onnx(import));
}

}  // namespace
}  // namespace volvox
