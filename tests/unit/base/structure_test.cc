#include "base/structure.h"

#include <array>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(SizeOf, CountsStepsLeavesAndCharacters) {
  EXPECT_EQ(size_of(NoStructure()), 0U);
  EXPECT_EQ(size_of(ChainStructure{7}), 7U);
  const std::array<std::int32_t, 2> starts{0, 1}, ends{1, 3};
  EXPECT_EQ(size_of(LatticeStructure{5, starts, ends}), 5U);
  const std::array<std::int32_t, 3> lengths{3, 9, 4};
  EXPECT_EQ(size_of(SequencesStructure{{"a", "b", "c"}, lengths}), 9U);
  EXPECT_EQ(size_of(SequencesStructure()), 0U);
}

TEST(SizeOf, CountsTheLeavesOfTreesAndGraphs) {
  const std::array<std::int32_t, 5> parents{2, 2, 4, 4, -1};  // leaves: 0, 1, 3
  EXPECT_EQ(size_of(TreeStructure{parents}), 3U);
  EXPECT_EQ(size_of(TreeStructure{std::span(parents).last(1)}), 1U);
  const std::array<std::int32_t, 4> types{}, predecessors{0, 1, 0, 2}, offsets{0, 0, 0, 2};
  EXPECT_EQ(size_of(GraphStructure{{"t"}, types, offsets, predecessors}), 2U);
}

TEST(SizeOf, ReadsNothingThatIsNotThere) {
  const std::array<std::int32_t, 3> parents{99, -7, -1};
  EXPECT_EQ(size_of(TreeStructure{parents}), 3U);
  EXPECT_EQ(size_of(TreeStructure()), 0U);
  EXPECT_EQ(size_of(GraphStructure()), 0U);
  const std::array<std::int32_t, 1> negative{-4};
  EXPECT_EQ(size_of(SequencesStructure{{"a"}, negative}), 0U);
}

}  // namespace
}  // namespace volvox
