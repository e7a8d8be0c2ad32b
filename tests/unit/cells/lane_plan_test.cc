#include "cells/ir/lane_plan.h"

#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/model/model.h"

namespace volvox {
namespace {

constexpr LaneEdge kOwnPrevious{.gather = 0, .from = 0, .offset = -1, .stride = 1};

LanePlan chain() {
  LanePlan plan;
  plan.lanes.push_back({.edges = {kOwnPrevious}});
  return plan;
}

// Lane 0 runs ahead of lane 1 in a window.
LanePlan eager_and_core(std::uint32_t window) {
  LanePlan plan;
  plan.lanes.push_back({.type = 0, .ring = window, .pool = 0});
  plan.lanes.push_back(
      {.type = 1,
       .pool = 1,
       .edges = {{.gather = 0, .from = 1, .offset = -1}, {.gather = 1, .from = 0, .offset = 0}}});
  return plan;
}

void expect_refused(const LanePlan& plan, const std::string& lane, const std::string& why) {
  const Status status = plan.validate();
  ASSERT_FALSE(status) << why;
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, testing::StartsWith(lane));
  EXPECT_THAT(status.error().message, testing::HasSubstr(why));
}

TEST(LanePlan, AcceptsTheUsualPlans) {
  EXPECT_TRUE(chain().validate());
  EXPECT_TRUE(eager_and_core(32).validate());
  EXPECT_TRUE(eager_and_core(1).validate());

  LanePlan stack = chain();
  stack.lanes.push_back(
      {.edges = {{.gather = 0, .from = 1, .offset = -1}, {.gather = 1, .from = 0, .offset = 0}}});
  stack.lanes.push_back(
      {.edges = {{.gather = 0, .from = 2, .offset = -1}, {.gather = 1, .from = 1, .offset = 0}}});
  EXPECT_TRUE(stack.validate());
}

TEST(LanePlan, AcceptsDirectionsAndDecoders) {
  LanePlan both = chain();
  both.lanes[0].ring = 0;
  both.lanes.push_back({.edges = {{.gather = 0, .from = 1, .offset = -1},
                                  {.gather = 1, .from = 0, .offset = 0, .stride = -1, .from_end = true}}});
  EXPECT_TRUE(both.validate());

  LanePlan decoder = chain();
  decoder.lanes[0].ring = 0;
  decoder.lanes.push_back({.length_of = 1,
                           .until_stopped = true,
                           .edges = {{.gather = 0, .from = 1, .offset = -1, .before_first = 0},
                                     {.gather = 1, .from = 0, .offset = 0, .stride = 0, .from_end = true},
                                     {.from = 0, .all = true}}});
  EXPECT_TRUE(decoder.validate());
}

TEST(LanePlan, RefusesNumbersOutOfRange) {
  EXPECT_FALSE(LanePlan{}.validate());
  LanePlan many;
  many.lanes.resize(LanePlan::kMaxLanes + 1);
  EXPECT_THAT(many.validate().error().message, testing::HasSubstr("65 lanes"));

  LanePlan plan = chain();
  plan.lanes[0].length_of = LanePlan::kMaxLengths;
  expect_refused(plan, "lane 0", "length 4");
  plan = chain();
  plan.lanes[0].edges[0].from = 3;
  expect_refused(plan, "lane 0", "reads lane 3, which does not exist");
  plan = chain();
  plan.lanes[0].edges[0].gather = kMaxGathers;
  expect_refused(plan, "lane 0", "gather 4 is out of range");
  plan = chain();
  plan.lanes[0].edges[0].before_first = 7;
  expect_refused(plan, "lane 0", "reads lane 7");
  plan = chain();
  plan.lanes[0].edges[0].before_first = 0;
  expect_refused(plan, "lane 0", "its own last");
  plan = chain();
  plan.lanes[0].pulls[1] = kMaxInputs;
  expect_refused(plan, "lane 0", "input 4");
  plan = chain();
  plan.lanes[0].pushes[1].output = kMaxOutputs;
  expect_refused(plan, "lane 0", "output 4");
  plan = chain();
  plan.lanes[0].edges.push_back(kOwnPrevious);
  expect_refused(plan, "lane 0", "two sources");
}

TEST(LanePlan, RefusesStepsThatDoNotExist) {
  LanePlan plan = eager_and_core(4);
  plan.lanes[1].edges[1].offset = 1;
  expect_refused(plan, "lane 1", "past the last step of lane 0");
  plan = eager_and_core(4);
  plan.lanes[1].edges[1].from_end = true;
  expect_refused(plan, "lane 1", "past the last step");
  plan = eager_and_core(4);
  plan.lanes[1].edges[1].stride = 2;
  expect_refused(plan, "lane 1", "stride");
  plan = eager_and_core(4);
  plan.lanes[1].edges[1].stride = -1;
  expect_refused(plan, "lane 1", "must count from the end");
  plan = eager_and_core(4);
  plan.lanes[1].length_of = 1;
  expect_refused(plan, "lane 1", "whose length is another");
  plan = eager_and_core(4);
  plan.lanes[0].has_state = false;
  expect_refused(plan, "lane 1", "publishes no state");
}

TEST(LanePlan, RefusesCyclesWithinOneStep) {
  LanePlan plan = chain();
  plan.lanes[0].edges[0].offset = 0;
  expect_refused(plan, "lane 0", "depends on itself");

  plan = eager_and_core(4);
  plan.lanes[0].edges.push_back({.gather = 0, .from = 1, .offset = 0});
  expect_refused(plan, "lane 0", "depends on itself");
  plan.lanes[0].edges[0].offset = -1;  // the step before: no cycle
  EXPECT_TRUE(plan.validate());

  plan.lanes[0].edges[0] = {.gather = 0, .from = 1, .offset = 0, .stride = 0, .from_end = true};
  expect_refused(plan, "lane 0", "depends on itself");

  plan = chain();
  plan.lanes[0].edges[0] = {.gather = 0, .from = 0, .offset = 0, .stride = 0, .from_end = true};
  expect_refused(plan, "lane 0", "depends on itself");
}

TEST(LanePlan, RefusesRingsThatAreTooSmall) {
  LanePlan plan = chain();
  plan.lanes[0].ring = 1;
  expect_refused(plan, "lane 0", "at least 2");
  plan = chain();
  plan.lanes[0].edges[0].offset = -3;
  expect_refused(plan, "lane 0", "at least 4");
  plan.lanes[0].ring = 4;
  EXPECT_TRUE(plan.validate());
  plan.lanes[0].ring = 0;
  EXPECT_TRUE(plan.validate());

  plan = eager_and_core(4);
  plan.lanes[1].edges[1] = {.gather = 1, .from = 0, .offset = 0, .stride = -1, .from_end = true};
  expect_refused(plan, "lane 1", "needs every step of lane 0");
  plan.lanes[1].edges[1] = {.from = 0, .all = true};
  expect_refused(plan, "lane 1", "needs every step of lane 0");
  plan.lanes[1].edges[1] = {.gather = 1, .from = 0, .offset = -4, .stride = 0, .from_end = true};
  expect_refused(plan, "lane 1", "at least 5");
}

// Lane 2 reads lane 0 five steps late and lane 1 in the same step, and lane 1 reads lane 0 in the same step.
TEST(LanePlan, SeesWhatARingMustBridgeThroughOtherLanes) {
  LanePlan plan = eager_and_core(5);
  plan.lanes.push_back(
      {.type = 2, .edges = {{.gather = 0, .from = 1, .offset = 0}, {.gather = 1, .from = 0, .offset = -5}}});
  expect_refused(plan, "lane 0", "ring of 5 is too small");
  plan.lanes[0].ring = 6;
  EXPECT_TRUE(plan.validate());

  // Lane 1 starts only when lane 0 has ended, so no window is enough.
  plan = eager_and_core(32);
  plan.lanes[1].edges[0].before_first = 0;
  expect_refused(plan, "lane 0", "ring of 32 is too small");
  plan.lanes[0].ring = 0;
  EXPECT_TRUE(plan.validate());
}

// Runs a plan step by step with `length` steps in every lane, as greedily as its rings allow.
bool runs_to_the_end(const LanePlan& plan, std::int64_t length) {
  const auto lanes = plan.lanes.size();
  std::vector<std::int64_t> done(lanes, 0);
  const auto ready = [&](std::size_t lane) {
    const std::int64_t t = done[lane];
    for (const LaneEdge& edge : plan.lanes[lane].edges) {
      const bool follows = !edge.all && edge.stride > 0;
      const std::int64_t s = follows ? t + edge.offset : length - 1;
      if (done[edge.from] <= s) return false;
    }
    for (std::size_t reader = 0; reader < lanes; ++reader) {
      for (const LaneEdge& edge : plan.lanes[reader].edges) {
        const auto ring = static_cast<std::int64_t>(plan.lanes[lane].ring);
        const std::int64_t overwritten = t - ring;
        if (edge.from != lane || ring == 0 || edge.all || edge.stride <= 0 || overwritten < 0) continue;
        const std::int64_t last_reader = overwritten - edge.offset;
        if (last_reader < length && done[reader] <= last_reader) return false;
      }
    }
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      while (done[lane] < length && ready(lane)) {
        ++done[lane];
        moved = true;
      }
    }
  }
  return std::ranges::all_of(done, [&](std::int64_t steps) { return steps == length; });
}

TEST(LanePlan, ValidMeansThatItRunsToTheEnd) {
  std::mt19937 random(3);
  int valid = 0, stuck = 0;
  for (int run = 0; run < 5000; ++run) {
    LanePlan plan;
    plan.lanes.resize(1 + random() % 4);
    for (LaneSpec& lane : plan.lanes) {
      lane.ring = random() % 4 == 0 ? 0 : 1 + random() % 6;
      const std::uint32_t gathers = random() % 3;
      for (std::uint32_t gather = 0; gather < gathers; ++gather) {
        LaneEdge edge{.gather = static_cast<std::uint8_t>(gather),
                      .from = static_cast<std::uint8_t>(random() % plan.lanes.size())};
        edge.offset = -static_cast<std::int32_t>(random() % 4);
        if (random() % 8 == 0) edge = {.from = edge.from, .all = true};
        lane.edges.push_back(edge);
      }
    }
    const Status status = plan.validate();
    if (status) {
      ++valid;
      EXPECT_TRUE(runs_to_the_end(plan, 60)) << "run " << run;
    } else if (status.error().message.find("two sources") == std::string::npos &&
               status.error().message.find("needs every step") == std::string::npos) {
      ++stuck;
      EXPECT_FALSE(runs_to_the_end(plan, 60)) << "run " << run << ": " << status.error().message;
    }
  }
  EXPECT_GT(valid, 500);
  EXPECT_GT(stuck, 500);
}

TEST(LanePlan, RebasingMakesNumbersUnique) {
  Model model;
  model.plan = eager_and_core(8);
  const LanePlan plan = rebased_plan(model, 5, 10, 20);
  EXPECT_EQ(plan.model, 5U);
  EXPECT_EQ(plan.lanes[0].type, 10U);
  EXPECT_EQ(plan.lanes[1].type, 11U);
  EXPECT_EQ(plan.lanes[0].pool, 20U);
  EXPECT_EQ(plan.lanes[1].pool, 21U);
  EXPECT_EQ(plan.lanes[1].edges[1].from, 0);
  EXPECT_EQ(model.plan.lanes[1].type, 1U);
}

}  // namespace
}  // namespace volvox
