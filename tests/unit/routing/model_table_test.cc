#include "routing/model_table.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::microseconds;

NodeId node(std::uint32_t index) {
  return {index, 0};
}
ModelOffer offer(std::string model, std::uint32_t version, std::uint64_t digest) {
  return {std::move(model), version, digest, microseconds(3), 10};
}

class ModelTableTest : public testing::Test {
 protected:
  void add(std::uint32_t index, const std::vector<ModelOffer>& offers) {
    table_.add(node(index), offers, conflicts_);
  }
  std::vector<std::uint32_t> who(std::string_view model, std::uint32_t version = 0) {
    std::vector<std::uint32_t> indices;
    if (const auto all = table_.candidates(model, version))
      for (const auto& candidate : *all) indices.push_back(candidate.node.index);
    std::sort(indices.begin(), indices.end());
    return indices;
  }
  ErrorCode error(std::string_view model, std::uint32_t version = 0) {
    return table_.candidates(model, version).error().code;
  }

  ModelTable table_;
  std::vector<DigestConflict> conflicts_;
};

using Indices = std::vector<std::uint32_t>;

TEST_F(ModelTableTest, FindsWhoOffersAVersionAndTheNewest) {
  add(0, {offer("mt", 1, 5), offer("asr", 1, 9)});
  add(1, {offer("mt", 1, 5), offer("mt", 2, 6)});
  EXPECT_EQ(who("mt", 1), (Indices{0, 1}));
  EXPECT_EQ(who("mt"), (Indices{1}));
  EXPECT_EQ(who("asr"), (Indices{0}));
  EXPECT_EQ(error("mt", 3), ErrorCode::kModelNotFound);
  EXPECT_EQ(error("tts"), ErrorCode::kModelNotFound);
}

TEST_F(ModelTableTest, ASecondDigestIsToldAndGetsNoTraffic) {
  add(0, {offer("mt", 1, 5)});
  add(1, {offer("mt", 1, 6), offer("asr", 1, 1)});
  EXPECT_EQ(who("mt"), (Indices{0}));
  EXPECT_EQ(who("asr"), (Indices{1}));
  ASSERT_EQ(conflicts_.size(), 1U);
  EXPECT_EQ(conflicts_[0].node, node(1));
  EXPECT_EQ(conflicts_[0].model, "mt");
  EXPECT_EQ(conflicts_[0].digest, 6U);
  EXPECT_EQ(conflicts_[0].expected, 5U);
}

TEST_F(ModelTableTest, TheDigestCountsForAsLongAsAnybodyOffersIt) {
  add(0, {offer("mt", 1, 5)});
  add(1, {offer("mt", 1, 6)});
  add(2, {offer("mt", 1, 5)});
  add(3, {offer("mt", 1, 7)});
  table_.remove(node(0), conflicts_);
  EXPECT_EQ(who("mt"), (Indices{2}));
  table_.use(node(2), NodeUse::kNothing);
  EXPECT_EQ(error("mt"), ErrorCode::kUnavailable) << "the digest of a node without work still counts";
  conflicts_.clear();
  table_.remove(node(2), conflicts_);
  EXPECT_EQ(who("mt"), (Indices{1}));
  ASSERT_EQ(conflicts_.size(), 1U);
  EXPECT_EQ(conflicts_[0].node, node(3));
  EXPECT_EQ(conflicts_[0].expected, 6U);
  table_.remove(node(1), conflicts_);
  table_.remove(node(3), conflicts_);
  EXPECT_EQ(error("mt"), ErrorCode::kModelNotFound);
}

TEST_F(ModelTableTest, ANewestVersionThatNobodyMayRunIsPassedOver) {
  add(0, {offer("mt", 1, 5)});
  add(1, {offer("mt", 2, 6)});
  table_.use(node(1), NodeUse::kNothing);
  EXPECT_EQ(who("mt"), (Indices{0}));
  EXPECT_EQ(error("mt", 2), ErrorCode::kUnavailable);
}

// What a client says of its request is believed up to the longest that the model takes: one liar must not
// make a node look busy for an hour.
TEST_F(ModelTableTest, ARequestIsNotTakenForLongerThanTheModelAllows) {
  ModelOffer bounded = offer("mt", 1, 5);
  bounded.max_cells = 40;
  add(0, {bounded});
  const auto mt = table_.candidates("mt", 1).value()[0];
  EXPECT_EQ(table_.cost(mt, 40), microseconds(120));
  EXPECT_EQ(table_.cost(mt, ~0U), microseconds(120));
  const std::vector<Duration> absurd{std::chrono::hours(24 * 365)};
  table_.set_costs(node(0), absurd);
  EXPECT_EQ(table_.cost(mt, ~0U), kMostWork) << "and nothing overflows";
}

TEST_F(ModelTableTest, CostsAreEachNodesOwn) {
  add(0, {offer("mt", 1, 5), offer("mt", 1, 5), offer("asr", 1, 9)});
  const auto mt = table_.candidates("mt", 1).value()[0];
  EXPECT_EQ(table_.cost(mt, 4), microseconds(12));
  EXPECT_EQ(table_.cost(mt, 0), microseconds(30)) << "the average where no hint is given";
  const std::vector<Duration> costs{microseconds(1), microseconds(50), microseconds(2), microseconds(9)};
  table_.set_costs(node(0), costs);
  EXPECT_EQ(table_.cost(mt, 4), microseconds(4));
  EXPECT_EQ(table_.cost(table_.candidates("asr", 1).value()[0], 4), microseconds(8));
}

TEST_F(ModelTableTest, AChangeOfOffersLeavesTheOthersAsTheyWere) {
  add(0, {offer("mt", 1, 5), offer("asr", 1, 9)});
  add(1, {offer("mt", 1, 6)});
  conflicts_.clear();
  const std::vector<ModelOffer> more{offer("tts", 1, 1), offer("mt", 1, 5), offer("mt", 2, 7)};
  table_.update(node(0), more, conflicts_);
  EXPECT_TRUE(conflicts_.empty());
  EXPECT_EQ(who("mt", 1), (Indices{0})) << "its digest still counts";
  EXPECT_EQ(who("mt"), (Indices{0}));
  EXPECT_EQ(table_.digest("mt", 2), 7U);
  EXPECT_EQ(error("asr"), ErrorCode::kModelNotFound);
  table_.set_costs(node(0), std::vector<Duration>{microseconds(1), microseconds(2), microseconds(4)});
  EXPECT_EQ(table_.cost(table_.candidates("mt", 1).value()[0], 4), microseconds(8)) << "by the new numbers";
}

TEST_F(ModelTableTest, OtherWeightsUnderAVersionAreAnotherOffer) {
  add(0, {offer("mt", 1, 5)});
  add(1, {offer("mt", 1, 5)});
  table_.update(node(0), std::vector{offer("mt", 1, 6)}, conflicts_);
  EXPECT_EQ(who("mt"), (Indices{1}));
  ASSERT_EQ(conflicts_.size(), 1U);
  conflicts_.clear();
  table_.update(node(1), std::vector{offer("mt", 1, 6)}, conflicts_);
  EXPECT_EQ(who("mt"), (Indices{0, 1})) << "now all have them";
  EXPECT_TRUE(conflicts_.empty());
}

TEST_F(ModelTableTest, ALastResortIsAskedWhereNobodyElseIs) {
  add(0, {offer("mt", 1, 5), offer("asr", 1, 9)});
  add(1, {offer("mt", 1, 5)});
  add(2, {offer("mt", 2, 6)});
  table_.use(node(0), NodeUse::kLastResort);
  EXPECT_EQ(who("mt", 1), (Indices{1}));
  EXPECT_EQ(who("asr"), (Indices{0}));
  table_.use(node(2), NodeUse::kLastResort);
  EXPECT_EQ(who("mt"), (Indices{1})) << "whoever answers goes before what is newest";
  table_.use(node(1), NodeUse::kLastResort);
  EXPECT_EQ(who("mt"), (Indices{2}));
  EXPECT_EQ(who("mt", 1), (Indices{0, 1}));
  table_.update(node(0), std::vector{offer("tts", 1, 1)}, conflicts_);
  EXPECT_EQ(who("mt", 1), (Indices{1}));
  EXPECT_EQ(who("tts"), (Indices{0}));
  table_.use(node(1), NodeUse::kNothing);
  EXPECT_EQ(error("mt", 1), ErrorCode::kUnavailable);
}

TEST_F(ModelTableTest, AChangeOfOffersChangesNoUse) {
  add(0, {offer("mt", 1, 5)});
  table_.use(node(0), NodeUse::kNothing);
  table_.update(node(0), std::vector{offer("mt", 1, 5), offer("asr", 1, 9)}, conflicts_);
  EXPECT_EQ(error("mt"), ErrorCode::kUnavailable);
  EXPECT_EQ(error("asr"), ErrorCode::kUnavailable);
  table_.use(node(0), NodeUse::kAnything);
  EXPECT_EQ(who("asr"), (Indices{0}));
  table_.update(node(7), std::vector{offer("mt", 1, 5)}, conflicts_);
  EXPECT_EQ(who("mt"), (Indices{0})) << "nobody knows node 7";
}

// Against a plain list of who offers what.
TEST(ModelTableWorlds, AgreeWithAPlainList) {
  struct Known {
    NodeUse use = NodeUse::kAnything;
    std::vector<ModelOffer> offers;
  };
  std::mt19937_64 dice(11);
  ModelTable table;
  std::vector<DigestConflict> conflicts;
  std::map<std::uint32_t, Known> known;
  const std::vector<std::string> models{"a", "b"};
  for (int step = 0; step < 20'000; ++step) {
    const auto index = static_cast<std::uint32_t>(dice() % 6);
    if (dice() % 3 == 0) {
      const bool change = dice() % 2 == 0 && known.contains(index);
      std::vector<ModelOffer> offers;
      for (const auto& model : models)
        if (dice() % 2 == 0) offers.push_back(offer(model, 1 + dice() % 2, dice() % 2));
      change ? table.update(node(index), offers, conflicts) : table.add(node(index), offers, conflicts);
      known[index] = {change ? known[index].use : NodeUse::kAnything, offers};
    } else if (dice() % 2 == 0) {
      table.remove(node(index), conflicts);
      known.erase(index);
    } else {
      const std::vector uses{NodeUse::kNothing, NodeUse::kLastResort, NodeUse::kAnything};
      const NodeUse use = uses[dice() % uses.size()];
      table.use(node(index), use);
      if (known.contains(index)) known[index].use = use;
    }
    for (const auto& model : models) {
      for (const std::uint32_t version : {1U, 2U}) {
        std::map<std::uint64_t, std::map<NodeUse, Indices>> by_digest;
        bool offered = false;
        for (const auto& [i, entry] : known)
          for (const auto& o : entry.offers)
            if (o.model == model && o.version == version) {
              offered = true;
              by_digest[o.digest][entry.use].push_back(i);
            }
        std::set<Indices> may;  // all that offer one digest and are of the best use that there is
        for (auto& [digest, by_use] : by_digest) {
          const bool any = by_use.contains(NodeUse::kAnything);
          may.insert(by_use[any ? NodeUse::kAnything : NodeUse::kLastResort]);
        }
        const auto found = table.candidates(model, version);
        if (!found) {
          ASSERT_EQ(found.error().code == ErrorCode::kModelNotFound, !offered);
          ASSERT_TRUE(!offered || may.contains({}));
          continue;
        }
        Indices indices;
        for (const auto& candidate : *found) indices.push_back(candidate.node.index);
        std::sort(indices.begin(), indices.end());
        ASSERT_TRUE(may.contains(indices)) << "the candidates are all that offer one digest, and no others";
      }
    }
  }
}

}  // namespace
}  // namespace volvox
