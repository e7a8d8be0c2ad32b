#include "shapes/lengths.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace volvox {
namespace {

class LengthFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    path_ = testing::TempDir() + "lengths-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string path_;
};

std::map<std::uint32_t, int> draws(const LengthSource& source, int count) {
  SeededRandom random(11);
  std::map<std::uint32_t, int> seen;
  for (int i = 0; i < count; ++i) ++seen[source.draw(random)];
  return seen;
}

TEST(Lengths, FixedIsFixed) {
  const auto seen = draws(LengthSource::fixed(24), 100);
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen.begin()->first, 24U);
}

// BatchMaker §7.1: mean 24, about 99 % under 100, at most 330.
TEST(Lengths, BuiltInHasThePapersShape) {
  constexpr int kCount = 1000000;
  const auto seen = draws(LengthSource::built_in(), kCount);
  double sum = 0;
  int under_100 = 0;
  for (const auto& [length, times] : seen) {
    sum += static_cast<double>(length) * times;
    if (length < 100) under_100 += times;
  }
  EXPECT_NEAR(sum / kCount, 24.0, 0.1);
  EXPECT_NEAR(static_cast<double>(under_100) / kCount, 0.99, 0.001);
  EXPECT_EQ(seen.rbegin()->first, 330U);  // a million draws reach the clip
  EXPECT_GE(seen.begin()->first, 1U);
}

TEST_F(LengthFile, ColumnsAreToldApart) {
  const std::string path = write("3\t4\n34\t40\n26\t37\n");
  const auto source = LengthSource::from_file(path, LengthColumn::kSource);
  const auto target = LengthSource::from_file(path, LengthColumn::kTarget);
  ASSERT_TRUE(source.has_value() && target.has_value());
  const auto of_source = draws(*source, 3000), of_target = draws(*target, 3000);
  EXPECT_EQ(of_source.size(), 3U);
  for (const auto& [length, times] : of_source) {
    EXPECT_TRUE(length == 3 || length == 34 || length == 26) << length;
    EXPECT_NEAR(times, 1000, 150) << length;
  }
  EXPECT_EQ(of_target.count(40), 1U);
}

TEST_F(LengthFile, OneNumberALine) {
  const auto source = LengthSource::from_file(write("7\r\n9\r\n"), LengthColumn::kSource);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(draws(*source, 100).size(), 2U);
}

TEST_F(LengthFile, NamesTheLineThatIsWrong) {
  for (const char* bad :
       {"x", "0", "-3", "1048577", "3 4", "3\t", "\t3", "3\t4\t5", "", "99999999999999999999"}) {
    const auto source =
        LengthSource::from_file(write("5\t6\n" + std::string(bad) + "\n"), LengthColumn::kSource);
    ASSERT_FALSE(source.has_value()) << bad;
    EXPECT_EQ(source.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(source.error().message.find(":2:"), std::string::npos) << source.error().message;
  }
}

TEST_F(LengthFile, NoTargetInAFileOfOneColumn) {
  EXPECT_FALSE(LengthSource::from_file(write("5\n"), LengthColumn::kTarget).has_value());
}

TEST_F(LengthFile, EmptyAndMissingFilesAreErrors) {
  EXPECT_FALSE(LengthSource::from_file(write(""), LengthColumn::kSource).has_value());
  EXPECT_FALSE(LengthSource::from_file(path_ + ".not", LengthColumn::kSource).has_value());
}

}  // namespace
}  // namespace volvox
