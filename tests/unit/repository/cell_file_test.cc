#include "repository/cell_file.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/infer.h"
#include "cells/library/cell_kind.h"
#include "cells/library/lstm.h"
#include "cells/model/reference.h"
#include "repository/model_writer.h"
#include "repository/repository.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/op_cases.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// What a cell says of itself beside its operators.
void expect_same(const Cell& got, const Cell& want) {
  EXPECT_EQ(to_json(got), to_json(want));
  EXPECT_EQ(got.states, want.states);
  EXPECT_EQ(got.gathers, want.gathers);
  EXPECT_EQ(got.pulls, want.pulls);
  EXPECT_EQ(got.pushes, want.pushes);
  EXPECT_EQ(got.gathers_all, want.gathers_all);
  ASSERT_EQ(got.values.size(), want.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i) EXPECT_EQ(got.values[i].ragged, want.values[i].ragged);
}

void expect_round_trip(const Cell& cell) {
  SCOPED_TRACE(cell.name);
  Result<Cell> read = parse_cell(to_json(cell), "x.cell.json");
  ASSERT_TRUE(read) << read.error().message;
  read->name = cell.name;
  const Status inferred = infer(*read);
  ASSERT_TRUE(inferred) << inferred.error().message;
  expect_same(*read, cell);
}

TEST(CellFile, KeepsTheCellsOfTheLibrary) {
  int kept = 0;
  for (const auto* kinds : cell_kinds()) {
    for (const CellKind& kind : *kinds) {
      const CellSizes sizes = kind.sized ? CellSizes{.input = 4, .hidden = 3, .start = 2} : CellSizes{};
      const auto built = kind.build("cell", sizes, nullptr, "");
      if (!built) continue;  // those whose widths only their weights know
      for (const Cell& cell : *built) {
        expect_round_trip(cell);
        ++kept;
      }
    }
  }
  EXPECT_GE(kept, 15);
}

// Of each operator one with random operands: ragged ones, integers, attributes, windows.
TEST(CellFile, KeepsEveryOperator) {
  for (const auto& one : testing_cells::op_cases()) expect_round_trip(testing_cells::OpBatch(one, 1).cell());
}

std::string error_of(const std::string& json) {
  const auto read = parse_cell(json, "x.cell.json");
  if (read) return "no error";
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(read.error().message, HasSubstr("x.cell.json: "));
  return read.error().message;
}

std::string with_operator(const std::string& op) {
  return R"({"states": [], "values": [{"dtype": "f32", "shape": [2]}], "operators": [{"op": "constant"}, )" +
         op + "]}";
}

TEST(CellFile, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(error_of(""), HasSubstr("is no JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("is no object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("has no 'states'"));
  EXPECT_THAT(error_of(R"({"states": [], "states": []})"), HasSubstr("'states' stands in it twice"));
  EXPECT_THAT(error_of(R"({"states": [], "values": [], "operators": [[[[[[]]]]]]})"),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(R"({"states": [], "values": 3, "operators": []})"), HasSubstr("'values' is no list"));
  EXPECT_THAT(error_of(R"({"states": [], "values": [{"dtype": "f16"}], "operators": []})"),
              HasSubstr("values 0: 'f16' is no type"));
  EXPECT_THAT(error_of(R"({"states": [], "values": [{"shape": [0]}], "operators": []})"),
              HasSubstr("values 0: 'shape' holds what cannot be there: 0"));
  EXPECT_THAT(error_of(R"({"states": [{"dtype": "f32"}], "values": [], "operators": []})"),
              HasSubstr("states 0: has no 'name'"));
  for (const char* state : {R"("dtype": "i32", "initial": 3e9)", R"("dtype": "u64", "initial": -1)",
                            R"("dtype": "i32", "initial": "inf")", R"("dtype": "f32", "initial": "nan")"}) {
    const std::string text = std::string(R"({"states": [{"name": "h", "shape": [], )") + state;
    EXPECT_THAT(error_of(text + R"(}], "values": [], "operators": []})"), HasSubstr("cannot hold it"))
        << state;
  }
  EXPECT_THAT(error_of(with_operator(R"({"op": "fold"})")),
              HasSubstr(R"(operators 1 ("fold"): there is no operator 'fold')"));
  EXPECT_THAT(error_of(with_operator(R"({"op": "add", "inputs": [-1, 0]})")),
              HasSubstr("'inputs' holds what cannot be there: -1"));
  EXPECT_THAT(error_of(with_operator(R"({"op": "add", "colour": 3})")), HasSubstr("unknown member 'colour'"));
  EXPECT_THAT(error_of(with_operator(R"({"op": "add", "has_bias": 1})")),
              HasSubstr("neither true nor false"));
  EXPECT_THAT(error_of(with_operator(R"({"op": "convolution", "convolution": {"width": 1e9}})")),
              HasSubstr("convolution: 'width' is no whole number"));
  EXPECT_THAT(error_of(with_operator(R"({"op": "slice", "end": 18446744073709551615})")),
              HasSubstr("'end' is no whole number"));
  EXPECT_THAT(error_of(std::string(kMaxCellFileBytes + 1, ' ')), HasSubstr("too large"));
}

std::string text_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

void replace_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// An LSTM of the library, and beside it the same as a file.
class FileCell : public testing::Test {
 protected:
  void SetUp() override {
    const NewSizes sizes{.hidden = 6, .input = 5, .vocabulary = 20, .seed = 3};
    ASSERT_TRUE(write_new_model({.path = library_, .name = "model", .every_step = true}, "lstm", sizes));
    fs::copy(library_, file_, fs::copy_options::recursive);
    const auto cell = lstm_cell("lstm", {.input = 5, .hidden = 6}, nullptr, "");
    ASSERT_TRUE(cell);
    json_ = to_json(*cell);
    replace_text(file_ / "lstm.cell.json", json_);
    std::string toml = text_in(file_ / "model.toml");
    for (const auto& [from, to] : {std::pair("kind = 'lstm'", "kind = \"file\""),
                                   std::pair("input = 5\n", ""), std::pair("hidden = 6\n", "")}) {
      const std::size_t at = toml.find(from);
      ASSERT_NE(at, std::string::npos) << from << " in " << toml;
      toml.replace(at, std::strlen(from), to);
    }
    replace_text(file_ / "model.toml", toml);
  }

  static std::shared_ptr<const Model> load(const fs::path& path, bool eager = true) {
    LoadOptions options;
    options.eager = eager;
    const auto model = load_model(path, options);
    EXPECT_TRUE(model) << model.error().message;
    return model ? *model : nullptr;
  }

  static std::vector<double> answers(const std::shared_ptr<const Model>& model) {
    const std::vector<std::int32_t> tokens{3, 19, 0, 7};
    const std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(tokens))};
    auto reference = Reference::make(model);
    EXPECT_TRUE(reference);
    const auto outputs = reference->run(inputs, ChainStructure{4});
    EXPECT_TRUE(outputs);
    return outputs->front().reals;
  }

  testing_cells::TemporaryFolder folder_;
  fs::path library_ = folder_.path() / "library", file_ = folder_.path() / "file";
  std::string json_;
};

TEST_F(FileCell, ComputesWhatTheLibrarysDoes) {
  for (const bool eager : {false, true}) {
    const auto model = load(file_, eager);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->types.size(), eager ? 2U : 1U);
    EXPECT_EQ(answers(model), answers(load(library_, eager)));
  }
}

TEST_F(FileCell, IsPartOfTheVersion) {
  const std::uint64_t before = load(file_)->digest;
  EXPECT_EQ(load(file_)->digest, before);
  replace_text(file_ / "lstm.cell.json", json_ + "\n");
  EXPECT_NE(load(file_)->digest, before);
}

TEST_F(FileCell, IsCheckedAgainstTheWeights) {
  std::string wrong = json_;
  const std::size_t at = wrong.find("lstm.weight_hh");
  ASSERT_NE(at, std::string::npos);
  replace_text(file_ / "lstm.cell.json", wrong.replace(at, 14, "lstm.weight_xx"));
  auto model = load_model(file_);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("there is no weight 'lstm.weight_xx'"));
  fs::remove(file_ / "lstm.cell.json");
  model = load_model(file_);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("lstm.cell.json"));
}

}  // namespace
}  // namespace volvox
