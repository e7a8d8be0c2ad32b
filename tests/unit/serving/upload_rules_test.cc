#include "serving/upload_rules.h"

#include <chrono>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::seconds;

TEST(UploadRules, ARateCountsAfterAMoment) {
  const UploadRules rules{seconds(10), seconds(2), 1024};
  const TimePoint start = TimePoint{} + seconds(100);
  EXPECT_EQ(rules.due(start, 0, 1024), start + seconds(3));
  EXPECT_EQ(rules.due(start, 3 * 1024, 1024), start + seconds(6));
  EXPECT_EQ(rules.due(start, 1 << 20, 1024), start + seconds(10)) << "all of it has its own time";
  EXPECT_EQ(rules.due(start, static_cast<std::size_t>(1) << 50, 1), start + seconds(10));
  EXPECT_EQ((UploadRules{seconds(10), seconds(2), 0}.due(start, 0, 1)), start + seconds(10));
}

TEST(UploadRules, MemoryIsSetAsideForWhatHasCome) {
  constexpr std::size_t kMost = 1 << 20;
  EXPECT_EQ(UploadRules::set_aside(0, 100), 100U);
  EXPECT_EQ(UploadRules::set_aside(0, kMost), 65'536U);
  for (std::size_t got = 0; got <= kMost; got += 1000) {
    const std::size_t bytes = UploadRules::set_aside(got, kMost);
    EXPECT_GE(bytes, got);
    EXPECT_LE(bytes, std::max<std::size_t>(65'536, 2 * got));
    EXPECT_LE(bytes, kMost);
  }
}

}  // namespace
}  // namespace volvox
