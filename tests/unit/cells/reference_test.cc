#include "cells/model/reference.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/ir/check_hash.h"
#include "cells/model/assemble.h"
#include "cells/unfold/sequence.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_cells::lstm_weights;

Result<Model> lstm_model(bool eager, bool every = false) {
  ModelDefinition definition{.name = "m", .max_length = 50};
  definition.cells.push_back({.name = "lstm", .kind = "lstm", .input = 13, .hidden = 11});
  definition.inputs.push_back({.name = "tokens"});
  definition.outputs.push_back({.name = "h", .every = every});
  return assemble(definition, lstm_weights(13, 11), {.eager = eager, .eager_window = 4}, "model.toml");
}

Reference reference_of(Result<Model> model) {
  EXPECT_TRUE(model) << model.error().message;
  Result<Reference> reference = Reference::make(std::make_shared<const Model>(std::move(*model)));
  EXPECT_TRUE(reference) << reference.error().message;
  return std::move(*reference);
}

const std::vector<std::int32_t> kTokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

TEST(Reference, SplitAndWholeAgree) {
  const auto whole = reference_of(lstm_model(false)).run(kTokens);
  const auto split = reference_of(lstm_model(true)).run(kTokens);
  ASSERT_TRUE(whole && split);
  ASSERT_EQ((*whole)[0].reals.size(), 11U);
  for (std::size_t j = 0; j < 11; ++j) EXPECT_NEAR((*whole)[0].reals[j], (*split)[0].reals[j], 1e-14);
}

TEST(Reference, EveryRowIsTheAnswerOfItsPrefix) {
  Reference last = reference_of(lstm_model(false));
  const auto every = reference_of(lstm_model(false, true)).run(kTokens);
  ASSERT_TRUE(every);
  ASSERT_EQ((*every)[0].reals.size(), 11 * kTokens.size());
  for (std::size_t n = 1; n <= kTokens.size(); ++n) {
    const auto prefix = last.run(std::span(kTokens).first(n));
    ASSERT_TRUE(prefix);
    for (std::size_t j = 0; j < 11; ++j) {
      EXPECT_EQ((*prefix)[0].reals[j], (*every)[0].reals[(n - 1) * 11 + j]);
    }
  }
}

TEST(Reference, CheckModelGivesTheHash) {
  ModelDefinition definition{.name = "check"};
  definition.cells.push_back({.name = "check", .kind = "check"});
  definition.inputs.push_back({.name = "tokens"});
  definition.outputs.push_back({.name = "state"});
  const auto answer = reference_of(assemble(definition, Weights{}, {}, "f")).run(kTokens);
  ASSERT_TRUE(answer);
  std::uint64_t wanted = 0, got = 0;
  for (std::int32_t token : kTokens) wanted = check_hash(wanted, static_cast<std::uint64_t>(token));
  ASSERT_EQ((*answer)[0].bytes.size(), sizeof(got));
  std::memcpy(&got, (*answer)[0].bytes.data(), sizeof(got));
  EXPECT_EQ(got, wanted);
}

TEST(Reference, NoopModelAnswersWithoutOutputs) {
  ModelDefinition definition{.name = "noop"};
  definition.cells.push_back({.name = "noop", .kind = "noop"});
  definition.inputs.push_back({.name = "tokens"});
  const auto answer = reference_of(assemble(definition, Weights{}, {}, "f")).run(kTokens);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->empty());
}

TEST(Reference, RefusesWhatAServerRefuses) {
  Reference reference = reference_of(lstm_model(false));
  const auto message = [&](const std::vector<std::int32_t>& tokens) {
    return reference.run(tokens).error().message;
  };
  EXPECT_THAT(message({}), HasSubstr("between 1 and 50"));
  EXPECT_THAT(message(std::vector<std::int32_t>(51)), HasSubstr("between 1 and 50"));
  EXPECT_THAT(message({1, 10}), HasSubstr("10 is outside the vocabulary of 10"));
  EXPECT_THAT(message({-1}), HasSubstr("-1 is outside"));
  EXPECT_THAT(reference.run(std::span<const std::span<const std::byte>>{}).error().message,
              HasSubstr("has 1 inputs"));
  const std::vector<std::byte> odd(7);
  const std::span<const std::byte> input(odd);
  EXPECT_THAT(reference.run(std::span(&input, 1)).error().message, HasSubstr("7 bytes"));
}

// A sum over an encoder's steps, and lanes that start with another's last step, run backwards, or read a
// fixed one.
TEST(Reference, FollowsEveryKindOfEdge) {
  CellBuilder forward("forward"), backward("backward"), reader("reader");
  for (CellBuilder* b : {&forward, &backward, &reader}) b->state({.name = "s", .shape = {1}, .initial = 100});
  forward.scatter("s", forward.add(forward.gather(0, "s"), forward.pull("x", DType::kF32, {1})));
  const ValueId sum = backward.add(backward.gather(0, "s"), backward.gather(1, "s"));
  backward.scatter("s", sum);
  const ValueId all = reader.segment_sum(reader.gather_all("s"));
  const ValueId fixed = reader.gather(1, "s");
  reader.scatter("s", reader.gather(0, "s"));
  reader.push("r", reader.concat({all, fixed, reader.gather(0, "s")}));

  Model model;
  model.name = "edges";
  model.unfolding = sequence_unfolding();
  const StateKind kind{.name = "s", .shape = {1}, .initial = 100};
  model.pools.push_back({{kind}});
  for (CellBuilder* b : {&forward, &backward, &reader})
    model.types.push_back({.name = "t", .cell = *b->build()});
  model.inputs.push_back({"x", DType::kF32, {1}, 0});
  model.outputs.push_back({"r", DType::kF32, {3}, true});
  model.plan.lanes.push_back({.type = 0, .ring = 0, .edges = {{.gather = 0, .from = 0, .offset = -1}}});
  model.plan.lanes.push_back({.type = 1,
                              .ring = 0,
                              .edges = {{.gather = 0, .from = 1, .offset = -1},
                                        {.gather = 1, .from = 0, .stride = -1, .from_end = true}}});
  LaneSpec last{.type = 2,
                .edges = {{.gather = 0, .from = 2, .offset = -1, .before_first = 1},
                          {.gather = 1, .from = 0, .offset = -1, .stride = 0, .from_end = true},
                          {.from = 1, .all = true}}};
  last.pushes[0] = {.output = 0, .every = true};
  model.plan.lanes.push_back(last);

  const std::vector<float> x{1, 2, 3};
  const std::span<const std::byte> input = std::as_bytes(std::span(x));
  const auto answer = reference_of(model).run(std::span(&input, 1));
  ASSERT_TRUE(answer) << answer.error().message;
  // forward: 101, 103, 106; backward: 206, 309, 410; the reader begins with 410 and keeps it.
  EXPECT_THAT((*answer)[0].reals, ElementsAre(925, 103, 410, 925, 103, 410, 925, 103, 410));
}

TEST(Model, ValidateSeesWhatDoesNotAgree) {
  const auto broken = [](const std::function<void(Model&)>& breaks) {
    Model model = *lstm_model(true);
    breaks(model);
    return validate(model).error().message;
  };
  EXPECT_THAT(broken([](Model& m) { m.plan.lanes[1].pool = 0; }), HasSubstr("pool is not that of its cell"));
  EXPECT_THAT(broken([](Model& m) { m.plan.lanes[1].type = 5; }), HasSubstr("cell does not exist"));
  EXPECT_THAT(broken([](Model& m) { m.plan.lanes[1].ring = 1; }), HasSubstr("ring of 1 is too small"));
  EXPECT_THAT(broken([](Model& m) { m.types[1].gather_pools[1] = 1; }), HasSubstr("no cell publishes there"));
  EXPECT_THAT(broken([](Model& m) { m.pools[0].kinds.clear(); }), HasSubstr("no such state"));
  EXPECT_THAT(broken([](Model& m) { m.outputs[0].shape = {3}; }), HasSubstr("not the output 'h'"));
  EXPECT_THAT(broken([](Model& m) { m.inputs.clear(); }), HasSubstr("inputs or outputs"));
  EXPECT_THAT(broken([](Model& m) { m.types[0].max_batch = 0; }), HasSubstr("batch limits"));
}

}  // namespace
}  // namespace volvox
