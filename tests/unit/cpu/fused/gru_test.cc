#include "cells/library/gru.h"

#include "cells/ir/fold.h"
#include "cells/ir/infer.h"
#include "cells/ir/split.h"
#include "cells/library/gru_reset_before.h"
#include "cells/patterns/gru.h"
#include "same_bits.h"

namespace volvox::cpu {
namespace {

Weights gru_weights(std::int64_t input, std::int64_t hidden) {
  return RandomWeights()
      .add("c.embedding", {kVocabulary, input})
      .add("c.weight_ih", {3 * hidden, input})
      .add("c.weight_hh", {3 * hidden, hidden})
      .add("c.bias_ih", {3 * hidden})
      .add("c.bias_hh", {3 * hidden})
      .weights();
}

// Its input's part is a row of a table, cut in three.
TEST(FusedGru, ComputesTheBitsOfAFoldedCell) {
  for (const std::int64_t hidden : {1, 7, 20, 33}) {
    Weights weights = gru_weights(9, hidden);
    FoldedCell folded =
        fold_cell(gru_cell("c", {9, hidden}, &weights).value(), weights, std::uint64_t{1} << 30);
    ASSERT_EQ(folded.tables.size(), 1U);
    const FoldedTable& table = folded.tables[0];
    const auto rows = std::make_shared<std::vector<float>>(static_cast<std::size_t>(table.ids * table.width));
    ASSERT_TRUE(fold_rows(table, rows->data()));
    weights.add(table.name, {DType::kF32, {table.ids, table.width}, std::as_bytes(std::span(*rows))}, rows);
    ASSERT_TRUE(infer(folded.cell, &weights));
    EXPECT_TRUE(match_gru(folded.cell));
    expect_same_bits(folded.cell, weights);
  }
}

// Its input's parts are three states of the eager part.
TEST(FusedGru, ComputesTheBitsOfTheCoreOfASplitCell) {
  for (const std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = gru_weights(9, hidden);
    const SplitCell split = split_cell(gru_cell("c", {9, hidden}, &weights).value()).value();
    ASSERT_TRUE(split.eager);
    EXPECT_TRUE(match_gru(split.core));
  }
}

TEST(FusedGru, LeavesOtherCellsAlone) {
  EXPECT_FALSE(match_gru(gru_cell("c", {9, 8}).value()));  // two products
  const SplitCell before = split_cell(gru_reset_before_cell("c", {9, 8}).value()).value();
  EXPECT_FALSE(match_gru(before.core));
}

}  // namespace
}  // namespace volvox::cpu
