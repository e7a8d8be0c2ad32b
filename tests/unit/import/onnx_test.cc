#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "import/onnx/read_onnx.h"
#include "tests/unit/import/onnx_testing.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_onnx::bytes_of;
using testing_onnx::case_of;
using testing_onnx::golden;
using testing_onnx::read;

using Onnx = testing_onnx::OnnxTest;

TEST_F(Onnx, ComputesWhatTheOriginalDoes) {
  for (const auto& one : golden()["cases"]) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const auto done = import_onnx(of(one));
    ASSERT_TRUE(done) << done.error().message;
    const auto want = one["outputs"]["y"].get<std::vector<double>>();
    for (const bool eager : {false, true}) {
      const std::vector<double> got = answer(one["inputs"]["x"], eager);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 1e-5) << i << " eager " << eager;
    }
  }
}

TEST_F(Onnx, RefusesByName) {
  for (const auto& one : golden()["refused"]) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const auto done = import_onnx(of(one));
    ASSERT_FALSE(done) << *done;
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(done.error().message, HasSubstr(one["why"].get<std::string>()));
  }
  EXPECT_FALSE(fs::exists(folder_.path() / "imported"));
}

// Whatever is missing or other than it was: an answer.
TEST_F(Onnx, SurvivesDamage) {
  for (const auto& one : golden()["cases"]) {
    const std::string name = one["name"].get<std::string>();
    if (name != "detector" && name != "lstm_peephole_clip" && name != "if_8000" &&
        name != "sequence_residual" && name != "sequence_scan")
      continue;
    const std::string whole = bytes_of(one["onnx"]);
    std::uint32_t random = 1;
    for (int i = 0; i < 300; ++i) {
      random = random * 1664525 + 1013904223;
      std::string damaged = whole;
      if (i % 3 == 0) {
        damaged.resize(random % whole.size());
      } else {
        damaged[(random >> 8) % whole.size()] = static_cast<char>(random >> 3);
      }
      OnnxImport import = of(one);
      std::ofstream(import.file, std::ios::binary) << damaged;
      const auto done = import_onnx(import);
      if (done) continue;
      EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument) << done.error().message;
    }
  }
}

TEST_F(Onnx, SaysWhatItFound) {
  auto done = import_onnx(of(case_of("detector")));
  ASSERT_TRUE(done);
  EXPECT_THAT(*done,
              HasSubstr("input x: f32[20] a step\nstate state becomes stateN\noutput y: f32[1] a step\n"));
  done = import_onnx(of(case_of("if_16000")));
  ASSERT_TRUE(done);
  EXPECT_THAT(*done, HasSubstr("1 branches taken"));
  EXPECT_THAT(*done, HasSubstr("constant sr\n"));
}

TEST_F(Onnx, TakesAndRefusesStatesThatAreNamed) {
  OnnxImport import = of(case_of("gru"));
  import.find_states = false;
  import.states = {{ "h", "hN" }};
  auto done = import_onnx(import);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(*done, HasSubstr("state h becomes hN"));
  import.states = {{ "h", "y" }};
  import.find_states = false;
  done = import_onnx(import);
  ASSERT_TRUE(done) << done.error().message;  // of the same shape: whoever says so knows
  import.states = {{ "h", "z" }};
  done = import_onnx(import);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("has no output 'z'; there are: y, hN"));
  import.states = {{ "x", "hN" }};
  done = import_onnx(import);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("that is no state"));
  import.states.clear();
  import.constants = {{ "rate", { 1 } }};
  done = import_onnx(import);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("has no input 'rate'; there are: x, h"));
}

// A packed state is taken apart, so that what is read of it is read in place.
TEST_F(Onnx, TakesPackedStatesApart) {
  ASSERT_TRUE(import_onnx(of(case_of("detector"))));
  const auto model = load_model(folder_.path() / "imported", {.eager = false});
  ASSERT_TRUE(model);
  const Cell& cell = (*model)->types.front().cell;
  ASSERT_EQ(cell.states.size(), 2U);
  EXPECT_EQ(cell.states[0], (StateKind{.name = "state.0", .shape = {16}}));
  for (const Operator& op : cell.operators) EXPECT_NE(op.def->name, "concat_axis");
}

// Clients of the one send what is new, of the other all that a step sees.
TEST_F(Onnx, WritesWindows) {
  constexpr std::size_t kSeen = 20, kNew = 15, kSteps = 6;
  std::vector<float> stream;
  for (std::size_t i = 0; i < kSteps * kNew; ++i)
    stream.push_back(std::sin(0.37F * static_cast<float>(i * i)));
  std::vector<float> padded(kSeen - kNew, 0.0F), rows;
  padded.insert(padded.end(), stream.begin(), stream.end());
  for (std::size_t step = 0; step < kSteps; ++step) {
    const auto* at = padded.data() + step * kNew;
    rows.insert(rows.end(), at, at + kSeen);
  }
  ASSERT_TRUE(import_onnx(of(case_of("detector"))));
  const std::vector<double> want = answer(rows, false);
  OnnxImport import = of(case_of("detector"));
  import.windows["x"] = {.samples = kSeen, .hop = kNew};
  const auto done = import_onnx(import);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(*done, HasSubstr("input x: f32[15] a step, seen as f32[20] with what came before\n"));
  EXPECT_EQ(answer(stream, false), want);
  EXPECT_EQ(answer(stream, true), want);
}

TEST_F(Onnx, RefusesWindowsThatDoNotFit) {
  OnnxImport import = of(case_of("detector"));
  const auto why_not = [&](const std::string& input, OnnxImport::Window window) {
    import.windows = {{ input, window }};
    const auto done = import_onnx(import);
    return done ? "taken" : done.error().message;
  };
  EXPECT_THAT(why_not("x", {.samples = 21, .hop = 15}), HasSubstr("takes 20 at a time"));
  EXPECT_THAT(why_not("x", {.samples = 20, .hop = 20}), HasSubstr("all but one"));
  EXPECT_THAT(why_not("state", {.samples = 20, .hop = 15}), HasSubstr("is a state"));
  EXPECT_THAT(why_not("z", {.samples = 20, .hop = 15}), HasSubstr("has no input 'z'"));
}

TEST(OnnxTable, IsThatOfThePage) {
  EXPECT_THAT(read(fs::path(VOLVOX_DOCS_DIR) / "import.md"),
              HasSubstr("|---|---|\n" + onnx_operator_table()));
}

}  // namespace
}  // namespace volvox
