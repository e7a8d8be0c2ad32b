// Paths through candidates, and the beam search that emits them.
#include "cells/model/best_path.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/library/beam_decoder.h"
#include "cells/model/assemble.h"
#include "repository/model_toml.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::int32_t> path_of(const std::vector<std::int32_t>& rows, std::size_t candidates) {
  return best_path(std::as_bytes(std::span(rows)), candidates);
}

TEST(BestPath, EndsWithTheFirstCandidateOfTheLastRow) {
  EXPECT_THAT(path_of({0, 0, 0, 11, 12, 13,  //
                       2, 1, 0, 21, 22, 23,  //
                       1, 0, 2, 31, 32, 33},
                      3),
              ElementsAre(12, 22, 31));
  EXPECT_THAT(path_of({0, 5}, 1), ElementsAre(5));
  EXPECT_THAT(path_of({}, 4), IsEmpty());
}

TEST(BestPath, GoesOnWithTheNearestWhereACandidateIsNone) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  EXPECT_THAT(path_of({0, 0, 11, 12, kMost, 0, 21, 22}, 2), ElementsAre(12, 21));
  EXPECT_THAT(path_of({0, 0, 11, 12, -kMost, 0, 21, 22}, 2), ElementsAre(11, 21));
}

// A chain whose cell emits what it pulls.
Result<Model> passing(const std::string& more) {
  CellBuilder b("pass");
  b.push("candidates", b.reshape(b.pull("x", DType::kI32, {4}), {2, 2}));
  auto definition = parse_model_definition(
      "name = \"m\"\nunfolding = \"lanes\"\n[[cell]]\nname = \"pass\"\nkind = \"file\"\n"
      "[[lane]]\ncell = \"pass\"\n" +
          more +
          "[[input]]\nname = \"x\"\nshape = [4]\n[[output]]\nname = \"said\"\nevery = true\npath = true\n",
      "m");
  EXPECT_TRUE(definition) << definition.error().message;
  definition->cells[0].given = std::make_shared<const Cell>(b.build().value());
  return assemble(*definition, Weights(), {}, "m");
}

TEST(BestPath, LanesThatRunInReverseHaveNone) {
  const auto model = passing("");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->outputs[0].path);
  const auto reversed = passing("reverse = true\n");
  ASSERT_FALSE(reversed);
  EXPECT_THAT(reversed.error().message,
              HasSubstr("reverse: the path 'said' goes from the first row to the last"));
}

TEST(BeamDecoder, WithoutItsWeightsSaysWhatIsMissing) {
  const auto cell = lstm_beam_decoder_cell("d", {.input = 2, .hidden = 3});
  ASSERT_FALSE(cell);
  EXPECT_THAT(cell.error().message, HasSubstr("'d.output' is missing or no matrix"));
  const auto late = lstm_beam_decoder_cell("d", {.input = 2, .hidden = 3, .outputs = 5, .end = 5});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("no element 5 in rows of 5"));
  EXPECT_TRUE(lstm_beam_decoder_cell("d", {.input = 2, .hidden = 3, .outputs = 5, .beams = 16}));
}

}  // namespace
}  // namespace volvox
