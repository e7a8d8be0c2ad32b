#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "batching/lanes/bounds.h"

namespace volvox {
namespace {

constexpr std::uint8_t kNone = LaneEdge::kNone;

// Lanes that rotate through two slots each, as far as the test says.
struct Lanes {
  LanePlan plan;
  std::vector<LaneProgress> progress;

  std::uint8_t add(const LaneProgress& at, std::vector<LaneEdge> edges) {
    LaneSpec spec;
    spec.edges = std::move(edges);
    spec.ring = at.ring;
    plan.lanes.push_back(spec);
    progress.push_back(at);
    return static_cast<std::uint8_t>(progress.size() - 1);
  }
  LaneBound bound(std::uint8_t lane, std::uint32_t want = 1) const {
    return lane_bound(plan, lane, want, [&](std::uint8_t l) { return progress[l]; });
  }
};

LaneProgress at(std::uint32_t done, std::uint32_t length, std::uint32_t ring = 2) {
  return {done, length, length, ring};
}

const LaneEdge kOwnStep{.gather = 0, .from = 0, .offset = -1, .stride = 1};

struct Case {
  const char* name;
  LaneEdge edge;           // by which lane 1 reads lane 0
  LaneProgress read, own;  // of lane 0, of lane 1
  std::uint32_t want;
  std::uint32_t allowed;
  std::uint8_t blocker;
  std::uint32_t needed;
};

TEST(LaneBound, OfALaneThatReadsAnother) {
  const LaneEdge same_step{.gather = 1, .from = 0, .offset = 0, .stride = 1};
  const LaneEdge two_back{.gather = 1, .from = 0, .offset = -2, .stride = 1};
  const LaneEdge backward{.gather = 1, .from = 0, .offset = 0, .stride = -1, .from_end = true};
  const LaneEdge the_last{.gather = 1, .from = 0, .offset = 0, .stride = 0, .from_end = true};
  const LaneEdge the_third{.gather = 1, .from = 0, .offset = 2, .stride = 0};
  const LaneEdge all{.gather = 1, .from = 0, .all = true};
  const LaneEdge starts_there{.gather = 1, .from = 1, .offset = -1, .stride = 1, .before_first = 0};
  const Case cases[] = {
      {"the same step, none submitted", same_step, at(0, 9, 9), at(0, 9), 1, 0, 0, 1},
      {"the same step, four submitted", same_step, at(4, 9, 9), at(0, 9), 1, 4, 0, 1},
      {"the same step, wanting more than there is", same_step, at(4, 9, 9), at(4, 9), 3, 4, 0, 7},
      {"the same step, wanting more than there will be", same_step, at(4, 9, 9), at(8, 9), 5, 4, 0, 9},
      {"the same step, all submitted", same_step, at(9, 9, 9), at(4, 9), 1, 9, kNone, 0},
      {"two steps back needs less", two_back, at(4, 9, 9), at(0, 9), 1, 6, 0, 1},
      {"backward begins at the end", backward, at(8, 9, 9), at(0, 9), 1, 0, 0, 9},
      {"backward with all of it", backward, at(9, 9, 9), at(0, 9), 1, 9, kNone, 0},
      {"the last step", the_last, at(8, 9, 9), at(0, 4), 1, 0, 0, 9},
      {"one fixed step that is there", the_third, at(3, 9, 9), at(0, 4), 1, 4, kNone, 0},
      {"one fixed step that is not", the_third, at(2, 9, 9), at(0, 4), 1, 0, 0, 3},
      {"every step", all, at(8, 9, 9), at(0, 4), 1, 0, 0, 9},
      {"it starts where the other ends", starts_there, at(8, 9), at(0, 4), 1, 0, 0, 9},
      {"the other has ended", starts_there, at(9, 9), at(0, 4), 1, 4, kNone, 0},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Lanes lanes;
    lanes.add(one.read, {kOwnStep});
    lanes.add(one.own, {{.gather = 0, .from = 1, .offset = -1, .stride = 1}, one.edge});
    const LaneBound bound = lanes.bound(1, one.want);
    EXPECT_EQ(bound.allowed, one.allowed);
    EXPECT_EQ(bound.blocker, one.blocker);
    if (one.blocker != kNone) {
      EXPECT_EQ(bound.needed, one.needed);
    }
  }
}

TEST(LaneBound, NothingLimitsAChain) {
  Lanes lanes;
  lanes.add(at(3, 9), {kOwnStep});
  EXPECT_EQ(lanes.bound(0).allowed, 9U);
}

TEST(LaneBound, ASlotIsWrittenAgainWhenItsReadersHaveReadIt) {
  Lanes lanes;
  lanes.add(at(4, 20, 4), {});
  const std::uint8_t reader = lanes.add(at(0, 20), {{.gather = 0, .from = 0, .offset = 0, .stride = 1}});
  EXPECT_EQ(lanes.bound(0).allowed, 4U);
  EXPECT_EQ(lanes.bound(0).blocker, reader);
  EXPECT_EQ(lanes.bound(0).needed, 1U);
  EXPECT_EQ(lanes.bound(0, 2).needed, 2U) << "an eager lane waits for half its window";
  lanes.progress[reader].done = 3;
  EXPECT_EQ(lanes.bound(0).allowed, 7U);
  lanes.progress[reader].done = 20;
  EXPECT_EQ(lanes.bound(0).allowed, 20U) << "its reader reads no more";
}

// Whether step t of the lane may be submitted, from what a step reads and writes alone.
bool may_submit(const Lanes& lanes, std::uint8_t lane, std::int64_t t) {
  const auto& progress = lanes.progress;
  for (const LaneEdge& edge : lanes.plan.lanes[lane].edges) {
    const LaneProgress& from = progress[edge.from];
    const bool ended = from.done >= from.run_length;
    const std::int64_t read =
        edge.offset + (edge.from_end ? std::int64_t{from.length} - 1 : 0) + std::int64_t{edge.stride} * t;
    if (edge.before_first != kNone &&
        progress[edge.before_first].done < progress[edge.before_first].run_length)
      return false;
    if (edge.from == lane || ended) continue;
    if (edge.all || read >= from.done) return false;
  }
  const std::int64_t overwritten = t - progress[lane].ring;
  if (overwritten < 0 || progress[lane].ring >= progress[lane].run_length) return true;
  for (std::uint8_t reader = 0; reader < progress.size(); ++reader) {
    if (reader == lane || progress[reader].done >= progress[reader].run_length) continue;
    for (const LaneEdge& edge : lanes.plan.lanes[reader].edges) {
      if (edge.from != lane || edge.all || edge.stride != 1) continue;
      const std::int64_t first = edge.offset + (edge.from_end ? std::int64_t{progress[lane].length} - 1 : 0);
      if (overwritten - first >= progress[reader].done) return false;  // the step that reads it is to come
    }
  }
  return true;
}

TEST(LaneBound, IsTheFirstStepThatMayNotBeSubmitted) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::uint32_t blocked = 0;
  for (int i = 0; i < 20'000; ++i) {
    Lanes lanes;
    const std::uint32_t count = 1 + below(4);
    for (std::uint32_t l = 0; l < count; ++l) {
      const std::uint32_t length = 1 + below(12);
      lanes.add({below(length + 1), length, length + (below(4) == 0 ? below(3) : 0), 1 + below(14)}, {});
    }
    for (std::uint32_t l = 0; l < count; ++l) {
      for (std::uint32_t e = below(3); e > 0; --e) {
        LaneEdge edge{.from = static_cast<std::uint8_t>(below(count)), .offset = -static_cast<int>(below(3))};
        edge.stride = static_cast<std::int8_t>(static_cast<int>(below(3)) - 1);
        edge.from_end = below(3) == 0;
        edge.all = below(6) == 0;
        if (below(5) == 0) edge.before_first = static_cast<std::uint8_t>(below(count));
        lanes.plan.lanes[l].edges.push_back(edge);
      }
    }
    const auto lane = static_cast<std::uint8_t>(below(count));
    std::uint32_t first_not = 0;
    while (first_not < lanes.progress[lane].run_length && may_submit(lanes, lane, first_not)) ++first_not;
    const LaneBound bound = lanes.bound(lane);
    ASSERT_EQ(bound.allowed, first_not) << "world " << i << ", lane " << int{lane};
    if (bound.allowed < lanes.progress[lane].run_length) {
      ++blocked;
      ASSERT_NE(bound.blocker, kNone);
      ASSERT_GE(bound.needed, 1U);
    }
  }
  EXPECT_GT(blocked, 1'000U);
}

}  // namespace
}  // namespace volvox
