#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/ir/split.h"
#include "cells/library/check.h"
#include "cells/library/lstm.h"
#include "cells/library/noop.h"
#include "cells/patterns/lstm.h"
#include "cells/patterns/matcher.h"

namespace volvox {
namespace {

constexpr std::int64_t kHidden = 8;

// An LSTM cell whose parts the caller may change.
struct Variant {
  bool swap_factors = false, swap_gates = false, plain_sum = false, push_gate = false, push_c = false;
  bool keep_c = true, pull_x = false, extra = false, one_c = false;
};

Cell make(const Variant& v) {
  CellBuilder b("variant");
  b.state({"h", {kHidden}}).state({"c", {kHidden}}).state({"one", {1}});
  const ValueId x =
      v.pull_x ? b.pull("x", DType::kF32, {4}) : b.embed(b.pull("token", DType::kI32), "table", 4);
  const auto [h, c] = b.gather(0, {"h", v.one_c ? "one" : "c"});
  const ValueId z = b.product({{"w", x}, {"u", h}}, {.bias = "b", .width = 4 * kHidden});
  const auto gate = [&](std::int64_t g) { return b.slice(z, g * kHidden, (g + 1) * kHidden); };
  const ValueId i = b.sigmoid(gate(v.swap_gates ? 1 : 0)), f = b.sigmoid(gate(v.swap_gates ? 0 : 1));
  const ValueId g = b.tanh(gate(2)), o = b.sigmoid(gate(3));
  const ValueId in = v.swap_factors ? b.mul(g, i) : b.mul(i, g);
  const ValueId c_new = v.plain_sum      ? b.add(b.mul(f, c), in)
                        : v.swap_factors ? b.mul_add(c, f, in)
                                         : b.mul_add(f, c, in);
  const ValueId h_new = v.swap_factors ? b.mul(b.tanh(c_new), o) : b.mul(o, b.tanh(c_new));
  b.scatter("h", h_new);
  if (v.keep_c) b.scatter("c", c_new);
  if (v.push_c) b.push("c", c_new);
  if (v.push_gate) b.push("o", o);
  if (v.extra) b.push("more", b.add(h_new, c_new));
  return b.build().value();
}

TEST(LstmPattern, RecognisesTheLstmOfTheLibrary) {
  const Cell cell = lstm_cell("lstm", {4, kHidden}).value();
  const auto found = match_lstm(cell);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->h_scatter->name, "h");
  EXPECT_EQ(found->c_scatter->name, "c");
  EXPECT_EQ(cell.producer(found->c_in.front())->name, "c");
  ASSERT_EQ(found->pushes.size(), 1U);
  EXPECT_FALSE(found->pushes[0].cell_state);
}

TEST(LstmPattern, RecognisesTheCoreOfASplitLstm) {
  const SplitCell split = split_cell(lstm_cell("lstm", {4, kHidden}).value()).value();
  ASSERT_TRUE(split.eager);
  EXPECT_FALSE(match_lstm(*split.eager));
  EXPECT_NE(Matcher(*split.eager).only_product(), nullptr);
  const auto core = match_lstm(split.core);
  ASSERT_TRUE(core);
  EXPECT_NE(product_start(*core->product), kNoValue);
  EXPECT_EQ(product_terms(*core->product).size(), 1U);
}

TEST(LstmPattern, DoesNotMindHowItIsWritten) {
  for (const Variant& v :
       {Variant{}, Variant{.swap_factors = true}, Variant{.push_c = true}, Variant{.pull_x = true}}) {
    const auto found = match_lstm(make(v));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->pushes.size(), v.push_c ? 1U : 0U);
  }
}

TEST(LstmPattern, LeavesOtherCellsAlone) {
  for (const Variant& v :
       {Variant{.swap_gates = true}, Variant{.plain_sum = true}, Variant{.push_gate = true},
        Variant{.keep_c = false}, Variant{.extra = true}, Variant{.one_c = true}}) {
    EXPECT_FALSE(match_lstm(make(v)));
  }
  EXPECT_FALSE(match_lstm(noop_cell("noop").value()));
  EXPECT_FALSE(match_lstm(check_cell("check").value()));
}

}  // namespace
}  // namespace volvox
