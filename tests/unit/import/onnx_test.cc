#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cells/model/reference.h"
#include "import/onnx/import_onnx.h"
#include "import/onnx/read_onnx.h"
#include "repository/repository.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_cells::TemporaryFolder;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

const nlohmann::json& golden() {
  static const auto json = nlohmann::json::parse(read(fs::path(VOLVOX_GOLDEN_DIR) / "onnx.json"));
  return json;
}

std::string bytes_of(const nlohmann::json& hex) {
  const auto text = hex.get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

class Onnx : public testing::Test {
 protected:
  OnnxImport of(const std::string& bytes) const {
    std::ofstream(folder_.path() / "model.onnx", std::ios::binary) << bytes;
    OnnxImport import{.file = folder_.path() / "model.onnx"};
    import.model = {.path = folder_.path() / "imported", .overwrite = true};
    return import;
  }

  OnnxImport of(const nlohmann::json& one) const {
    OnnxImport import = of(bytes_of(one["onnx"]));
    if (one.contains("set")) import.constants = one["set"].get<std::map<std::string, std::vector<double>>>();
    if (one.contains("shapes")) import.shapes = one["shapes"].get<std::map<std::string, Shape>>();
    return import;
  }

  // What the imported model makes of all rows of x, as one request.
  std::vector<double> answer(const nlohmann::json& x, bool eager) const {
    LoadOptions options;
    options.eager = eager;
    const auto model = load_model(folder_.path() / "imported", options);
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return {};
    const InputSpec& input = (*model)->inputs.front();
    const auto real = x.get<std::vector<float>>();
    const std::vector<std::int32_t> whole(real.begin(), real.end());
    const auto bytes =
        input.dtype == DType::kF32 ? std::as_bytes(std::span(real)) : std::as_bytes(std::span(whole));
    const auto steps =
        static_cast<std::uint32_t>(real.size() / static_cast<std::size_t>(elements(input.shape)));
    const std::vector<std::span<const std::byte>> inputs{bytes};
    auto reference = Reference::make(*model);
    EXPECT_TRUE(reference);
    const auto outputs = reference->run(inputs, ChainStructure{steps});
    EXPECT_TRUE(outputs);
    return outputs->front().reals;
  }

  TemporaryFolder folder_;
};

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
    if (name != "detector" && name != "lstm_peephole_clip" && name != "if_8000") continue;
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

const nlohmann::json& case_of(const std::string& name) {
  for (const auto& one : golden()["cases"]) {
    if (one["name"] == name) return one;
  }
  throw std::runtime_error(name);
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
