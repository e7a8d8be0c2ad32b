#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/bench/allocations.h"
#include "simulation/bench/engine_options.h"
#include "simulation/bench/statistics.h"

namespace volvox::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Statistics, PercentilesAreNearestRanks) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0.9), 7);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.51), 3);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 1), 4);
}

TEST(Statistics, RepeatedTellsMedianAndSpread) {
  Repeated r;
  EXPECT_TRUE(r.json().is_null());
  for (double x : {5.0, 1.0, 3.0}) r.add(x);
  EXPECT_EQ(r.median(), 3);
  EXPECT_EQ(r.json()["median"], 3.0);
  EXPECT_EQ(r.json()["spread"], nlohmann::json({1.0, 5.0}));
  EXPECT_EQ(r.json()["values"].size(), 3U);
  r.add(4);
  EXPECT_EQ(r.median(), 3.5);
}

std::vector<std::string> texts(const EnginePlan& plan) {
  std::vector<std::string> all;
  for (const Configuration& c : plan.configurations) all.push_back(c.text());
  for (const Load& load : plan.loads) all.push_back(load.text());
  return all;
}

TEST(EnginePlan, CrossesPoliciesWithBatchesAndWidths) {
  EngineOptions options;
  options.max_batches = {16, 64};
  options.bucket_widths = {1, 10};
  const auto plan = plan_of(options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(texts(*plan), ElementsAre("cellular:16", "cellular:64", "padded:16:1", "padded:16:10",
                                        "padded:64:1", "padded:64:10", "backlog"));
}

TEST(EnginePlan, APolicyMayBringItsOwn) {
  EngineOptions options;
  options.policies = {"cellular:128", "padded:8,16:5"};
  options.rates = {100};
  options.shares = {"padded:0.5"};
  const auto plan = plan_of(options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(texts(*plan),
              ElementsAre("cellular:128", "padded:8:5", "padded:16:5", "backlog", "100.0/s", "padded:0.50"));
}

TEST(EnginePlan, WithARateTheBacklogIsLeftOutUnlessAskedFor) {
  EngineOptions options;
  options.policies = {"cellular"};
  options.rates = {5};
  EXPECT_THAT(texts(plan_of(options).value()), ElementsAre("cellular:64", "5.0/s"));
  options.backlog = true;
  EXPECT_THAT(texts(plan_of(options).value()), ElementsAre("cellular:64", "backlog", "5.0/s"));
}

TEST(EnginePlan, MergedGraphsHaveWindows) {
  EngineOptions options;
  options.policies = {"depth:256:64,128", "agenda"};
  options.windows = {32};
  const auto plan = plan_of(options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(texts(*plan), ElementsAre("depth:256:64", "depth:256:128", "agenda:64:32", "backlog"));
  options.policies = {"depth:1:512"};
  EXPECT_GT(plan_of(options)->loads[0].outstanding, 512U) << "enough for the next window to wait";
}

TEST(EnginePlan, CallsRunAloneAndNeverPadded) {
  EngineOptions options;
  options.calls = {100, 2000};
  options.max_batches = {16, 64};
  EXPECT_THAT(texts(plan_of(options).value()),
              ElementsAre("cellular:16", "cellular:64", "100 calls", "2000 calls"));
  options.policies = {"padded"};
  EXPECT_FALSE(plan_of(options));
  options.policies = {"cellular"};
  options.rates = {5};
  EXPECT_FALSE(plan_of(options));
}

TEST(EnginePlan, RefusesNonsense) {
  const auto with = [](auto change) {
    EngineOptions options;
    change(options);
    return plan_of(options).has_value();
  };
  EXPECT_FALSE(with([](auto& o) { o.policies = {"fifo"}; }));
  EXPECT_FALSE(with([](auto& o) { o.policies = {""}; }));
  EXPECT_FALSE(with([](auto& o) { o.policies = {"padded:x"}; }));
  EXPECT_FALSE(with([](auto& o) { o.policies = {"padded:0"}; }));
  EXPECT_FALSE(with([](auto& o) { o.policies = {"padded:8:10:3"}; }));
  EXPECT_FALSE(with([](auto& o) { o.rates = {-1}; }));
  EXPECT_FALSE(with([](auto& o) { o.shares = {"padded"}; }));
  EXPECT_FALSE(with([](auto& o) { o.shares = {"padded:-1"}; }));
  EXPECT_FALSE(with([](auto& o) { o.policies = {"cellular"}, o.shares = {"padded:0.5"}; }));
}

TEST(Allocations, AreCounted) {
  const std::uint64_t before = allocations();
  auto* volatile p = new int(1);
  EXPECT_EQ(allocations(), before + 1);
  delete p;
}

}  // namespace
}  // namespace volvox::bench
