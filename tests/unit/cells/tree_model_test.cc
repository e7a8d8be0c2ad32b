// Models over trees: their definitions, and what the reference says that they answer.

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/model/assemble.h"
#include "cells/model/reference.h"
#include "cells/unfold/tree/tree.h"
#include "repository/model_toml.h"
#include "repository/model_writer.h"
#include "repository/repository.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/random_tree.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing_cells::TemporaryFolder;
using Parents = std::vector<std::int32_t>;
using Tokens = std::vector<std::int32_t>;

const NewSizes kSmall{.hidden = 6, .input = 5, .vocabulary = 20, .seed = 3};

ModelDefinition definition_of(const std::string& kind, const std::string& output, bool every) {
  ModelDefinition definition{.name = "m", .unfolding = "tree", .max_length = 50};
  definition.cells.push_back({.line = 7, .name = "tree", .kind = kind});
  definition.inputs.push_back({.line = 9, .name = "tokens"});
  definition.outputs.push_back({.name = output, .every = every});
  return definition;
}

TreeStructure tree(const Parents& parents) {
  return {parents};
}

const TreePlan& plan_of(const Model& model) {
  return dynamic_cast<const TreeUnfolding&>(*model.unfolding).plan();
}

std::string error_of(const ModelDefinition& definition) {
  const auto model = assemble(definition, Weights{}, {}, "model.toml");
  EXPECT_FALSE(model);
  return model ? "" : model.error().message;
}

Reference reference_of(const std::shared_ptr<const Model>& model) {
  Result<Reference> reference = Reference::make(model);
  EXPECT_TRUE(reference) << reference.error().message;
  return std::move(*reference);
}

Reference check_tree_reference(bool every) {
  auto model = assemble(definition_of("check_tree", "state", every), Weights{}, {}, "model.toml");
  EXPECT_TRUE(model) << model.error().message;
  return reference_of(std::make_shared<const Model>(std::move(*model)));
}

std::vector<std::uint64_t> numbers(const ReferenceOutput& output) {
  std::vector<std::uint64_t> values(output.bytes.size() / sizeof(std::uint64_t));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

std::shared_ptr<const Model> written(const TemporaryFolder& folder, const char* kind, bool every) {
  const NewModel model{.path = folder.path() / "m", .overwrite = true, .every_step = every};
  EXPECT_TRUE(write_new_model(model, kind, kSmall));
  auto loaded = load_model(model.path);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *loaded : nullptr;
}

TEST(TreeModel, ABinaryTreeLstmIsAPairOfCells) {
  const TemporaryFolder folder;
  const auto model = written(folder, "tree_lstm", false);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->unfolding->takes(*model), "binary tree");
  ASSERT_EQ(model->types.size(), 2U);
  EXPECT_EQ(model->types[0].name, "tree.leaf");
  EXPECT_EQ(model->types[1].name, "tree.internal");
  EXPECT_LT(model->types[0].priority, model->types[1].priority) << "later cells first";
  EXPECT_TRUE(model->plan.lanes.empty());
  EXPECT_EQ(model->pools.size(), 1U);
  const TreePlan& plan = plan_of(*model);
  EXPECT_TRUE(plan.binary);
  EXPECT_FALSE(plan.inner_pulls);
  EXPECT_EQ(plan.pushes[0].output, 0);
  EXPECT_FALSE(plan.pushes[0].every);
  EXPECT_EQ(model->inputs[0].vocabulary, 20);
  EXPECT_EQ(model->outputs[0].shape, Shape{6});
}

TEST(TreeModel, AChildSumCellIsOneTypeAndIsNotSplit) {
  const TemporaryFolder folder;
  const auto model = written(folder, "child_sum", true);
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->types.size(), 1U);
  EXPECT_EQ(model->unfolding->takes(*model), "tree");
  EXPECT_TRUE(plan_of(*model).inner_pulls);
  EXPECT_TRUE(plan_of(*model).pushes[0].every);
}

TEST(TreeModel, NumbersOfAProcessAreAddedToItsOwn) {
  const TemporaryFolder folder;
  const auto model = written(folder, "tree_lstm", false);
  const Parents parents{2, 2, -1};
  const auto nodes = model->unfolding->nodes(tree(parents), {7, 20, 30});
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ((*nodes)->model, 7U);
  EXPECT_EQ((*nodes)->node(0).type, 20U);
  EXPECT_EQ((*nodes)->node(2).type, 21U);
  EXPECT_EQ((*nodes)->pool, 30U);
}

TEST(TreeModel, TextAndDefinitionAgree) {
  const ModelDefinition definition = definition_of("check_tree", "state", true);
  const auto parsed = parse_model_definition(to_toml(definition), "f");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->unfolding, "tree");
  EXPECT_EQ(to_toml(*parsed), to_toml(definition));
}

TEST(TreeModel, ErrorsSayWhereAndWhy) {
  EXPECT_THAT(error_of(definition_of("lstm", "h", false)),
              HasSubstr("model.toml:7: kind: 'lstm' is not in the library for a tree: check_tree, child_sum, "
                        "mv_rnn, tree_fc, tree_gru, tree_lstm"));
  ModelDefinition chain = definition_of("tree_lstm", "h", false);
  chain.unfolding = "chain";
  EXPECT_THAT(error_of(chain),
              HasSubstr("not in the library for a chain: check, cnn, gru, gru_reset_before, lstm, "
                        "lstm_peephole, lstm_projection, mlp, noop, rnn, rnn_relu"));
  EXPECT_THAT(error_of(definition_of("tree_lstm", "h", false)),
              HasSubstr("model.toml:7: hidden: is missing"));
  ModelDefinition sized = definition_of("check_tree", "state", false);
  sized.cells[0].hidden = 4;
  EXPECT_THAT(error_of(sized), HasSubstr("a check_tree cell has no sizes"));
  ModelDefinition weightless = definition_of("tree_lstm", "h", false);
  weightless.cells[0].hidden = 4;
  EXPECT_THAT(error_of(weightless), HasSubstr("there is no weight 'tree.leaf.embedding'"));
  ModelDefinition two = definition_of("check_tree", "state", false);
  two.cells.push_back(two.cells[0]);
  EXPECT_THAT(error_of(two), HasSubstr("a tree has one cell"));
  ModelDefinition inputless = definition_of("check_tree", "state", false);
  inputless.inputs.clear();
  EXPECT_THAT(error_of(inputless), HasSubstr("whose rows are its nodes"));
  ModelDefinition floats = definition_of("check_tree", "state", false);
  floats.inputs[0].dtype = DType::kF32;
  EXPECT_THAT(error_of(floats), HasSubstr("model.toml:9: input 'tokens': is f32[], the cell reads i32[]"));
}

TEST(TreeModel, AGraphNeedsAnInputAsATreeDoes) {
  for (const char* unfolding : {"tree", "graph"}) {
    ModelDefinition definition = definition_of("check_tree", "state", false);
    definition.unfolding = unfolding;
    definition.inputs.clear();
    EXPECT_THAT(error_of(definition), HasSubstr("needs at least one, whose rows are its nodes"));
  }
}

TEST(TreeModel, ValidateSeesWhatDoesNotAgree) {
  const TemporaryFolder folder;
  const auto good = written(folder, "tree_lstm", false);
  const auto broken = [&](const std::function<void(Model&)>& breaks) {
    Model model = *good;
    breaks(model);
    return validate(model).error().message;
  };
  const auto broken_plan = [&](const std::function<void(TreePlan&)>& breaks) {
    TreePlan plan = plan_of(*good);
    breaks(plan);
    return broken([&](Model& m) { m.unfolding = std::make_shared<const TreeUnfolding>(plan); });
  };
  EXPECT_THAT(broken_plan([](TreePlan& plan) { plan.inner = 2; }),
              HasSubstr("inner nodes: their cell does not exist"));
  EXPECT_THAT(broken_plan([](TreePlan& plan) { plan.inner = 0; }),
              HasSubstr("reads what the tree does not give"));
  EXPECT_THAT(broken_plan([](TreePlan& plan) { plan.leaf = 1; }), HasSubstr("leaves: their cell reads"));
  EXPECT_THAT(broken_plan([](TreePlan& plan) { plan.binary = false; }), HasSubstr("leaves read a list"));
  EXPECT_THAT(broken_plan([](TreePlan& plan) { plan.pulls[0] = 1; }), HasSubstr("its input does not exist"));
  EXPECT_THAT(broken_plan([](TreePlan& plan) { plan.pushes[0].every = true; }),
              HasSubstr("not the output 'h'"));
  EXPECT_THAT(broken([](Model& m) { m.pools.push_back(m.pools[0]); }), HasSubstr("one pool"));
  EXPECT_THAT(broken([](Model& m) {
                m.outputs.push_back({"x", DType::kF32, {6}, true});
              }),
              HasSubstr("all rows of every output"));
}

TEST(TreeReference, HashesRandomTreesByTheDefinition) {
  Reference root = check_tree_reference(false), every = check_tree_reference(true);
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    const Parents parents = random_parents(random, 1 + random() % 12, 1, 4);
    const Tokens tokens = random_tokens(random, parents.size(), 1000);
    const std::vector<std::uint64_t> wanted = hashes_of(tokens, parents);
    const auto rows = every.run(tokens, tree(parents)), last = root.run(tokens, tree(parents));
    ASSERT_TRUE(rows) << rows.error().message;
    ASSERT_TRUE(last) << last.error().message;
    EXPECT_EQ(numbers((*rows)[0]), wanted);
    EXPECT_EQ(numbers((*last)[0]), std::vector{wanted.back()});
  }
}

TEST(TreeReference, TheOrderOfChildrenCounts) {
  Reference reference = check_tree_reference(false);
  const auto one = reference.run(Tokens{1, 2, 3}, tree(Parents{2, 2, -1}));
  const auto other = reference.run(Tokens{2, 1, 3}, tree(Parents{2, 2, -1}));
  ASSERT_TRUE(one && other);
  EXPECT_NE(numbers((*one)[0]), numbers((*other)[0]));
}

// A leaf and a node of one child are the chain's steps; the numbers of the nodes do not matter.
TEST(TreeReference, ABinaryTreeLstmDependsOnTheShapeAndNotOnTheNumbers) {
  const TemporaryFolder folder;
  Reference reference = reference_of(written(folder, "tree_lstm", false));
  const auto answer = reference.run(Tokens{4, 9, 11, -1, -1}, tree(Parents{4, 3, 3, 4, -1}));
  const auto renumbered = reference.run(Tokens{9, 4, 11, 0, 0}, tree(Parents{3, 4, 3, 4, -1}));
  const auto mirrored = reference.run(Tokens{4, 11, 9, -1, -1}, tree(Parents{4, 3, 3, 4, -1}));
  ASSERT_TRUE(answer && mirrored);
  ASSERT_TRUE(renumbered) << renumbered.error().message;
  ASSERT_EQ((*answer)[0].reals.size(), 6U);
  EXPECT_EQ((*answer)[0].reals, (*renumbered)[0].reals);
  EXPECT_NE((*answer)[0].reals, (*mirrored)[0].reals);
  for (const double h : (*answer)[0].reals) EXPECT_TRUE(std::abs(h) < 1 && h != 0);
}

TEST(TreeReference, RefusesWhatAServerRefuses) {
  const TemporaryFolder folder;
  Reference reference = reference_of(written(folder, "tree_lstm", false));
  const auto message = [&](const Tokens& tokens, const Parents& parents) {
    return reference.run(tokens, TreeStructure{parents}).error().message;
  };
  EXPECT_THAT(message({1, 2, 3}, {}), HasSubstr("has no nodes"));
  EXPECT_THAT(message({1, 2}, {2, 2, -1}), HasSubstr("a row for each node"));
  EXPECT_THAT(message({1, 20, 3}, {2, 2, -1}), HasSubstr("20 is outside the vocabulary"));
  EXPECT_THAT(message({1, 2}, {1, -1}), HasSubstr("node 1 has 1 child"));
  Reference chain = reference_of(std::make_shared<const Model>(*assemble(
      [] {
        ModelDefinition definition{.name = "check"};
        definition.cells.push_back({.name = "check", .kind = "check"});
        definition.inputs.push_back({.name = "tokens"});
        return definition;
      }(),
      Weights{}, {}, "f")));
  EXPECT_THAT(chain.run(Tokens{1, 2, 3}, tree(Parents{2, 2, -1})).error().message, HasSubstr("send a chain"));
}

}  // namespace
}  // namespace volvox
