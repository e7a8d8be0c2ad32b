// Trees through a whole server: every node once, in its place, whatever else runs.

#include <gmock/gmock.h>

#include "cells/model/reference.h"
#include "tests/unit/actors/house.h"
#include "tests/unit/cells/random_tree.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using Parents = std::vector<std::int32_t>;
using Tokens = std::vector<std::int32_t>;

// "tree" and "nodes" (an answer for every node) hash trees, "lstm" is a binary TreeLSTM, "check" a chain.
Models write_tree_models(const Scratch& scratch) {
  const auto at = [&](const char* name, bool every = false) {
    return NewModel{.path = scratch.path() / name, .every_step = every};
  };
  EXPECT_TRUE(write_new_model(at("tree"), "check_tree"));
  EXPECT_TRUE(write_new_model(at("nodes", true), "check_tree"));
  EXPECT_TRUE(write_new_model(at("lstm"), "tree_lstm", {.hidden = 4, .vocabulary = 20}));
  EXPECT_TRUE(write_new_model(at("check"), "check"));
  Models models;
  for (const char* name : {"tree", "nodes", "lstm", "check"}) {
    auto loaded = load_model(scratch.path() / name);
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (loaded) models.push_back(*loaded);
  }
  return models;
}

struct TreeHouse : House {
  explicit TreeHouse(const ServeConfig& config = loopback(),
                     std::shared_ptr<Device> device = std::make_shared<TimedDevice>(TimedCost{0, 0}))
      : House(config, std::move(device), {}, write_tree_models) {}

  Reply ask_tree(const char* model, const Tokens& tokens, const Parents& parents) const {
    return ask(tree_request(model, "tokens", std::span(tokens), parents));
  }
};

std::vector<std::uint64_t> states_in(const Reply& reply) {
  const WireTensor* state = reply.body.find("state");
  if (!reply.status() || state == nullptr) return {};
  const auto values = state->values<std::uint64_t>();
  return values ? std::vector<std::uint64_t>(values->begin(), values->end()) : std::vector<std::uint64_t>();
}

TEST(Trees, AnswerForTheRootOrForEveryNode) {
  const TreeHouse house;
  const Tokens tokens{5, -6, 7, 8, 9};
  const Parents parents{4, 2, 4, 4, -1};
  const auto wanted = hashes_of(tokens, parents);
  const Reply root = house.ask_tree("tree", tokens, parents),
              nodes = house.ask_tree("nodes", tokens, parents);
  EXPECT_EQ(states_in(root), std::vector{wanted.back()}) << root.header.error.message;
  EXPECT_EQ(states_in(nodes), wanted) << nodes.header.error.message;
  EXPECT_EQ(root.header.cells, 5U);
  EXPECT_EQ(nodes.body.find("state")->shape, WireShape({5}));
}

TEST(Trees, ManyAtOnceBesideChainsAreAllRight) {
  const TreeHouse house;
  std::mt19937_64 random(3);
  std::vector<std::future<Reply>> answers;
  std::vector<std::vector<std::uint64_t>> wanted;
  for (int i = 0; i < 300; ++i) {
    const Parents parents = random_parents(random, 1 + random() % 40, 1, 5);
    const Tokens tokens = random_tokens(random, parents.size(), 1000);
    switch (i % 3) {
      case 0:
        wanted.push_back({check_answer(tokens)});
        answers.push_back(house.client->submit(chain_request("check", "tokens", std::span(tokens))));
        break;
      case 1:
        wanted.push_back({hashes_of(tokens, parents).back()});
        answers.push_back(house.client->submit(tree_request("tree", "tokens", std::span(tokens), parents)));
        break;
      default:
        wanted.push_back(hashes_of(tokens, parents));
        answers.push_back(house.client->submit(tree_request("nodes", "tokens", std::span(tokens), parents)));
    }
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].wait_for(kLongEnough), std::future_status::ready);
    const Reply reply = answers[i].get();
    EXPECT_EQ(states_in(reply), wanted[i]) << i << ": " << reply.header.error.message;
  }
}

// An interpreted device computes real cells.
TEST(Trees, ATreeLstmAnswersAsTheReferenceDoes) {
  const TreeHouse house(loopback(), std::make_shared<FakeDevice>());
  auto reference = Reference::make(house.models[2]);
  ASSERT_TRUE(reference);
  std::mt19937_64 random(8);
  for (int i = 0; i < 20; ++i) {
    const Parents parents = random_parents(random, 1 + random() % 12);
    const Tokens tokens = random_tokens(random, parents.size(), 20);
    const Reply reply = house.ask_tree("lstm", tokens, parents);
    ASSERT_TRUE(reply.status()) << reply.header.error.message;
    const auto wanted = reference->run(tokens, TreeStructure{parents});
    ASSERT_TRUE(wanted) << wanted.error().message;
    const auto got = reply.body.find("h")->values<float>();
    ASSERT_TRUE(got);
    ASSERT_EQ(got->size(), 4U);
    for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR((*got)[j], (*wanted)[0].reals[j], 1e-5);
  }
}

TEST(Trees, RowsOfAStreamComeWhenTheTreeIsDone) {
  const TreeHouse house;
  const Tokens tokens{1, 2, 3};
  const Parents parents{2, 2, -1};
  ClientRequest request = tree_request("nodes", "tokens", std::span(tokens), parents);
  request.header.stream = true;
  std::vector<std::uint64_t> rows;
  std::promise<Reply> last;
  ASSERT_TRUE(house.client->submit(request, [&](Reply&& reply) {
    for (const std::uint64_t row : states_in(reply)) rows.push_back(row);
    if (reply.header.final) last.set_value(std::move(reply));
  }));
  auto answer = last.get_future();
  ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
  const Reply reply = answer.get();
  EXPECT_TRUE(reply.status()) << reply.header.error.message;
  EXPECT_EQ(rows, hashes_of(tokens, parents));
}

struct BadTree {
  const char* model;
  Tokens tokens;
  Structure structure;
  const char* says;
};

TEST(Trees, BadOnesAreRefusedWithAReason) {
  const TreeHouse house;
  const Parents one_child{1, -1}, forest{-1, 2, -1}, cycle{1, 0}, pair{2, 2, -1}, early{0, -1};
  Parents large(5000, 4999);
  large.back() = -1;
  const BadTree bad[] = {
      {"lstm", {1, 2}, TreeStructure{one_child}, "node 1 has 1 child; this model's trees are binary"},
      {"tree", {1, 2, 3}, TreeStructure{forest}, "several roots, nodes 0 and 2"},
      {"tree", {1, 2}, TreeStructure{cycle}, "children come before parents"},
      {"tree", {1, 2}, TreeStructure{early}, "children come before parents"},
      {"tree", {1, 2, 3}, TreeStructure{}, "number of tree nodes is 0"},
      {"tree", Tokens(5000), TreeStructure{large}, "at most 4096 nodes, not 5000"},
      {"tree", {1, 2, 3}, ChainStructure{3}, "unfolds along a tree; send a tree"},
      {"check", {1, 2, 3}, TreeStructure{pair}, "unfolds along a chain; send a chain"},
      {"lstm", {1, 2}, TreeStructure{pair}, "must have the shape [3], a row for each node, not [2]"},
      {"lstm", {1, 20, -1}, TreeStructure{pair}, "has the id 20 at 1"},
      {"lstm", {-1, 2, 3}, TreeStructure{pair}, "has the id -1 at 0"},
  };
  for (const BadTree& request : bad) {
    ClientRequest spoilt = chain_request(request.model, "tokens", std::span(request.tokens));
    spoilt.body.structure = request.structure;
    const Reply reply = house.ask(spoilt);
    EXPECT_EQ(code_of(reply), ErrorCode::kInvalidArgument) << request.says;
    EXPECT_THAT(reply.header.error.message, HasSubstr(request.says));
  }
  EXPECT_TRUE(house.ask_tree("lstm", {1, 2, -1}, pair).status()) << "inner nodes need no token";
}

TEST(Trees, TakePartInNoSession) {
  const TreeHouse house;
  const Tokens tokens{1, 2, 3};
  const Parents parents{2, 2, -1};
  ClientRequest request = tree_request("tree", "tokens", std::span(tokens), parents);
  request.header.session.emplace().operation = SessionOperation::kBegin;
  const Reply reply = house.ask(request);
  EXPECT_EQ(code_of(reply), ErrorCode::kInvalidArgument);
  EXPECT_THAT(reply.header.error.message, HasSubstr("cannot run in parts"));
}

// Unfolded trees count against the memory of results.
TEST(Trees, TheirNodesAreBounded) {
  ServeConfig config = loopback();
  config.limits.max_result_mib_in_flight = 1;
  auto device = held_device();
  const TreeHouse house(config, device);
  Parents parents(4096);
  for (std::size_t v = 0; v < parents.size(); ++v) parents[v] = static_cast<std::int32_t>(v) + 1;
  parents.back() = -1;
  const Tokens tokens(parents.size(), 1);
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(house.client->submit(tree_request("tree", "tokens", std::span(tokens), parents)));
  }
  // 64 bytes for each of 4096 nodes, and the answer: three fit into 1 MiB.
  for (std::size_t i = 3; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].wait_for(kLongEnough), std::future_status::ready);
    EXPECT_EQ(code_of(answers[i].get()), ErrorCode::kOverloaded);
  }
  const LetRun let_run(device);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(answers[i].wait_for(kLongEnough), std::future_status::ready);
    EXPECT_TRUE(answers[i].get().status());
  }
}

TEST(Trees, CannotBePadded) {
  const Scratch scratch;
  ServeConfig config = loopback();
  config.batching.policy = PolicyKind::kPadded;
  Monitor monitor{"test"};
  const auto started = Server::start(config, Devices{std::make_shared<TimedDevice>(TimedCost{0, 0})},
                                     write_tree_models(scratch), monitor);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(started.error().message, HasSubstr("trees, which cannot be padded"));
}

}  // namespace
}  // namespace volvox
