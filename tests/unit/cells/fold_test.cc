#include "cells/ir/fold.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/ir/infer.h"
#include "cells/library/lstm.h"
#include "cells/ops/ops.h"
#include "repository/model_writer.h"
#include "repository/repository.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/row_runner.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_cells::lstm_weights;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::TemporaryFolder;
using testing_cells::WeightsMaker;

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

std::vector<const Operator*> all_of(const Cell& cell, const OpDef& kind) {
  std::vector<const Operator*> found;
  for (const Operator& op : cell.operators) {
    if (op.is(kind)) found.push_back(&op);
  }
  return found;
}

// A folded cell with its tables among the weights.
struct Folded {
  Cell cell;
  Weights weights;
  std::vector<FoldedTable> tables;
};
Folded fold(const Cell& cell, const Weights& weights, std::uint64_t most_bytes = kPlenty) {
  FoldedCell folded = fold_cell(cell, weights, most_bytes);
  Folded made{std::move(folded.cell), weights, std::move(folded.tables)};
  for (const FoldedTable& table : made.tables) {
    const auto rows = std::make_shared<std::vector<float>>(static_cast<std::size_t>(table.ids * table.width));
    EXPECT_TRUE(fold_rows(table, rows->data()));
    const Tensor tensor{DType::kF32, {table.ids, table.width}, std::as_bytes(std::span(*rows))};
    made.weights.add(table.name, tensor, rows);
  }
  const Status fits = infer(made.cell, &made.weights);
  EXPECT_TRUE(fits) << fits.error().message;
  return made;
}

// Over a chain of tokens, the state of each step before read by the next one; to the bit.
void expect_same_bits(const Cell& cell, const Weights& weights, const std::vector<std::int32_t>& tokens) {
  Folded folded = fold(cell, weights);
  ASSERT_FALSE(folded.tables.empty());
  RowRunner<float> whole(cell, weights), looked_up(folded.cell, folded.weights);
  std::optional<NodeResult> a, b;
  for (const std::int32_t& token : tokens) {
    NodeResult next_a = whole.run({a ? &a->states : nullptr}, {&token});
    NodeResult next_b = looked_up.run({b ? &b->states : nullptr}, {&token});
    ASSERT_EQ(next_a.states, next_b.states);
    ASSERT_EQ(next_a.pushes, next_b.pushes);
    a = std::move(next_a);
    b = std::move(next_b);
  }
}

const std::vector<std::int32_t> kTokens{3, 1, 4, 1, 5, 9, 2, 6, 0};

TEST(FoldCell, HalfOfAnLstmBecomesATable) {
  const Weights weights = lstm_weights(5, 3, 11);
  const Folded folded = fold(*lstm_cell("lstm", {.input = 5, .hidden = 3}, &weights), weights);
  ASSERT_EQ(folded.tables.size(), 1U);
  EXPECT_EQ(folded.tables[0].ids, 11);
  EXPECT_EQ(folded.tables[0].width, 12);
  EXPECT_EQ(folded.tables[0].bytes(), 11U * 12 * sizeof(float));
  const auto embeds = all_of(folded.cell, kEmbedOp);
  ASSERT_EQ(embeds.size(), 1U);  // that of x is gone
  EXPECT_THAT(embeds[0]->weights, ElementsAre(folded.tables[0].name));
  const auto products = all_of(folded.cell, kProductOp);
  ASSERT_EQ(products.size(), 1U);
  EXPECT_THAT(products[0]->weights, ElementsAre("lstm.weight_hh"));
  EXPECT_EQ(products[0]->inputs.back(), embeds[0]->output);
  EXPECT_TRUE(products[0]->has_start);
  EXPECT_FALSE(products[0]->has_bias);
}

TEST(FoldCell, AnLstmComputesTheSameBits) {
  const Weights weights = lstm_weights(19, 23);
  expect_same_bits(*lstm_cell("lstm", {.input = 19, .hidden = 23}, &weights), weights, kTokens);
}

// Two rows by one id, a product that goes away as a whole, one without a bias, a row that is still read.
TEST(FoldCell, AMixedCellComputesTheSameBits) {
  Random random(7);
  WeightsMaker maker;
  maker.add_random("a", {10, 4}, random).add_random("b", {10, 3}, random).add_random("wa", {6, 4}, random);
  maker.add_random("wb", {6, 3}, random).add_random("u", {6, 6}, random).add_random("bias", {6}, random);
  maker.add_random("v", {6, 4}, random);
  const Weights weights = maker.weights();
  CellBuilder b("c");
  b.state({.name = "h", .shape = {6}});
  const ValueId id = b.pull("id", DType::kI32);
  const ValueId x = b.embed(id, "a"), y = b.embed(id, "b");
  const ValueId z = b.product({{"wa", x}, {"wb", y}, {"u", b.gather(0, "h")}}, {.bias = "bias"});
  const ValueId whole = b.product({{"v", x}}, {});
  b.scatter("h", b.tanh(b.add(z, whole)));
  b.push("x", x);
  const auto cell = b.build(&weights);
  ASSERT_TRUE(cell) << cell.error().message;
  const Folded folded = fold(*cell, weights);
  EXPECT_EQ(folded.tables.size(), 2U);
  EXPECT_EQ(all_of(folded.cell, kProductOp).size(), 1U);
  EXPECT_EQ(all_of(folded.cell, kEmbedOp).size(), 3U);  // two folded ones, and x, which is pushed
  expect_same_bits(*cell, weights, kTokens);
}

TEST(FoldCell, TablesStayWithinTheBudget) {
  const Weights weights = lstm_weights(5, 3, 11);
  const Cell cell = *lstm_cell("lstm", {.input = 5, .hidden = 3}, &weights);
  const std::uint64_t bytes = std::uint64_t{11} * 12 * sizeof(float);
  EXPECT_EQ(fold(cell, weights, bytes).tables.size(), 1U);
  const Folded whole = fold(cell, weights, bytes - 1);
  EXPECT_TRUE(whole.tables.empty());
  EXPECT_EQ(whole.cell.operators.size(), cell.operators.size());
}

// A sum that does not begin with the row cannot begin in a table, and an id that the cell computes may be
// outside of it.
TEST(FoldCell, WhatCannotBeLookedUpStays) {
  Random random(7);
  WeightsMaker maker;
  maker.add_random("a", {10, 4}, random).add_random("w", {6, 4}, random).add_random("u", {6, 6}, random);
  const Weights weights = maker.weights();
  CellBuilder behind("behind");
  behind.state({.name = "h", .shape = {6}});
  const ValueId x = behind.embed(behind.pull("id", DType::kI32), "a");
  behind.scatter("h", behind.product({{"u", behind.gather(0, "h")}, {"w", x}}, {}));
  EXPECT_TRUE(fold(*behind.build(&weights), weights).tables.empty());

  CellBuilder computed("computed");
  computed.state({.name = "id", .shape = {}, .dtype = DType::kI32});
  const ValueId row = computed.embed(computed.gather(0, "id"), "a");
  const ValueId z = computed.product({{"w", row}}, {});
  computed.scatter("id", computed.argmax(z));
  const auto cell = computed.build(&weights);
  ASSERT_TRUE(cell) << cell.error().message;
  EXPECT_TRUE(fold(*cell, weights).tables.empty());
}

class FoldedModel : public testing::Test {
 protected:
  std::shared_ptr<const Model> load(const LoadOptions& options) {
    const auto model = load_model(folder_.path() / "m", options);
    EXPECT_TRUE(model) << model.error().message;
    return *model;
  }
  void write() {
    ASSERT_TRUE(write_new_model({.path = folder_.path() / "m"}, "lstm",
                                {.hidden = 8, .vocabulary = 50, .layers = 2}));
  }

  TemporaryFolder folder_;
};

TEST_F(FoldedModel, SaysWhatItsTablesTakeAndKeepsDigestAndVocabulary) {
  write();
  const auto whole = load({.eager = false}), folded = load({.eager = false, .fold_bytes = kPlenty});
  EXPECT_EQ(whole->folded_bytes, 0U);
  EXPECT_EQ(folded->folded_bytes, 50U * 32 * sizeof(float));  // the upper layer reads no token
  EXPECT_EQ(folded->digest, whole->digest);
  EXPECT_EQ(folded->inputs[0].vocabulary, 50);
  EXPECT_EQ(load({.fold_bytes = folded->folded_bytes - 1})->folded_bytes, 0U);
}

TEST_F(FoldedModel, OfItsProductNothingIsLeftToComputeAhead) {
  write();
  EXPECT_EQ(load({})->types.size(), 4U);
  EXPECT_EQ(load({.fold_bytes = kPlenty})->types.size(), 3U) << "the upper layer reads no token";
}

TEST_F(FoldedModel, ATableThatCannotBeComputedIsAnError) {
  write();
  const LoadOptions options{.fold_bytes = kPlenty, .fold_rows = [](const FoldedTable&, float*) -> Status {
                              return invalid("no way");
                            }};
  const auto model = load_model(folder_.path() / "m", options);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("no way"));
}

}  // namespace
}  // namespace volvox
