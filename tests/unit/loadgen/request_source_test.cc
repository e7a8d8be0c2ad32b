#include "loadgen/request_source.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(RequestSource, ARequestIsAFunctionOfSeedAndIndex) {
  const RequestSource source(5, LengthSource::built_in(), 30000), same(5, LengthSource::built_in(), 30000),
      other(6, LengthSource::built_in(), 30000);
  std::vector<std::int32_t> forward, again, different;
  std::set<std::vector<std::int32_t>> distinct;
  for (std::uint64_t index = 0; index < 200; ++index) {
    source.make(index, forward);
    same.make(index, again);
    other.make(index, different);
    EXPECT_EQ(forward, again);
    EXPECT_NE(forward, different);
    distinct.insert(forward);
  }
  EXPECT_EQ(distinct.size(), 200U);
  source.make(17, forward);
  same.make(17, again);
  EXPECT_EQ(forward, again) << "out of order";
}

TEST(RequestSource, IdsFillTheVocabulary) {
  const RequestSource source(1, LengthSource::fixed(100), 7);
  std::vector<std::int32_t> tokens;
  std::set<std::int32_t> seen;
  for (std::uint64_t index = 0; index < 20; ++index) {
    source.make(index, tokens);
    EXPECT_EQ(tokens.size(), 100U);
    seen.insert(tokens.begin(), tokens.end());
  }
  EXPECT_EQ(seen, (std::set<std::int32_t>{0, 1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace volvox
