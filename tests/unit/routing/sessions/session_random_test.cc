// What must hold of sessions whatever happens: repeats, reorders, failures, cancels, expiries, spills and
// restores that fail, bounds of all sizes. Each seed is a run of its own; a failure prints its seed.

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_world.h"

namespace volvox::desk {
namespace {

SessionStats run(std::uint64_t seed, int steps) {
  World world(seed);
  for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) world.step();
  world.settle();
  world.drain();
  world.check_nothing_is_left();
  return world.stats();
}

void add(SessionStats& sum, const SessionStats& stats) {
  sum.begun += stats.begun;
  sum.committed += stats.committed;
  sum.failed += stats.failed;
  sum.repeated += stats.repeated;
  sum.conflicts += stats.conflicts;
  sum.over_share += stats.over_share;
  sum.gave_way += stats.gave_way;
  sum.spills += stats.spills;
  sum.failed_spills += stats.failed_spills;
  sum.restores += stats.restores;
  for (std::size_t i = 0; i < kSessionEnds; ++i) sum.releases[i] += stats.releases[i];
}

// A rule is tested only where it was reached.
void expect_everything_happened(const SessionStats& sum) {
  EXPECT_GT(sum.begun, 1000U);
  EXPECT_GT(sum.committed, 10'000U);
  EXPECT_GT(sum.failed, 1000U);
  EXPECT_GT(sum.repeated, 1000U);
  EXPECT_GT(sum.conflicts, 100U);
  EXPECT_GT(sum.over_share, 100U);
  EXPECT_GT(sum.gave_way, 100U);
  EXPECT_GT(sum.spills, 1000U);
  EXPECT_GT(sum.failed_spills, 100U);
  EXPECT_GT(sum.restores, 250U);
  for (std::size_t i = 0; i < kSessionEnds; ++i) {
    EXPECT_GT(sum.releases[i], 100U) << to_string(static_cast<SessionEnd>(i));
  }
}

TEST(SessionRandom, ManyWorldsKeepEveryRule) {
  SessionStats sum;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    add(sum, run(seed, 500));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  expect_everything_happened(sum);
}

TEST(SessionRandom, ALongLifeKeepsEveryRule) {
  for (std::uint64_t seed = 1001; seed <= 1005; ++seed) {
    EXPECT_GT(run(seed, 10'000).committed, 100U);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace volvox::desk
