#include "routing/part_verdicts.h"

#include <chrono>

#include <gmock/gmock.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr milliseconds kPatience{500};

Error error(ErrorCode code) {
  return {code, "why"};
}

class Parts : public testing::Test {
 protected:
  std::vector<std::uint32_t> overdue_after(milliseconds time) {
    std::vector<std::uint32_t> parts;
    parts_.overdue(start_ + time, parts);
    return parts;
  }
  void expect_unknown(std::uint32_t part, ErrorCode code) {
    const PartVerdict verdict = parts_.failed(part, error(code));
    EXPECT_TRUE(verdict.undecided);
    EXPECT_EQ(verdict.error, nobody_knows());
  }
  void expect_certain(std::uint32_t part, ErrorCode said, ErrorCode told) {
    const PartVerdict verdict = parts_.failed(part, error(said));
    EXPECT_FALSE(verdict.undecided);
    EXPECT_EQ(verdict.error.code, told);
  }

  const TimePoint start_{std::chrono::hours(1)};
  PartVerdicts parts_{kPatience};
};

TEST_F(Parts, WhatIsNoPartIsAnsweredAtOnce) {
  EXPECT_FALSE(parts_.stop(1, ErrorCode::kCancelled, start_));
  expect_certain(1, ErrorCode::kUnavailable, ErrorCode::kUnavailable);
  EXPECT_EQ(parts_.size(), 0U);
}

TEST_F(Parts, TheHomesWordCounts) {
  for (const ErrorCode code : {ErrorCode::kInvalidArgument, ErrorCode::kUnavailable, ErrorCode::kCancelled}) {
    parts_.begin(1);
    expect_certain(1, code, code);
  }
  EXPECT_EQ(parts_.size(), 0U);
}

TEST_F(Parts, OneThatNobodyWaitsForIsStillDecidedAtItsHome) {
  parts_.begin(1);
  EXPECT_FALSE(parts_.stopped(1));
  EXPECT_TRUE(parts_.stop(1, ErrorCode::kCancelled, start_));
  EXPECT_TRUE(parts_.stopped(1));
  EXPECT_THAT(overdue_after(milliseconds(499)), IsEmpty());
  expect_certain(1, ErrorCode::kCancelled, ErrorCode::kCancelled);
  EXPECT_THAT(overdue_after(milliseconds(501)), IsEmpty()) << "its home has said it";
}

TEST_F(Parts, OneThatIsTooLateIsToldSoWhateverItsHomeCallsIt) {
  parts_.begin(1);
  EXPECT_TRUE(parts_.stop(1, ErrorCode::kDeadlineExceeded, start_));
  EXPECT_TRUE(parts_.stop(1, ErrorCode::kCancelled, start_ + milliseconds(1))) << "the first one counts";
  expect_certain(1, ErrorCode::kCancelled, ErrorCode::kDeadlineExceeded);
}

TEST_F(Parts, WhenItsHomeSaysNothingNobodyKnows) {
  for (const std::uint32_t part : {1U, 2U, 3U}) parts_.begin(part);
  EXPECT_TRUE(parts_.stop(1, ErrorCode::kCancelled, start_));
  EXPECT_TRUE(parts_.stop(2, ErrorCode::kDeadlineExceeded, start_ + milliseconds(100)));
  EXPECT_THAT(overdue_after(milliseconds(500)), ElementsAre(1U));
  expect_unknown(1, ErrorCode::kCancelled);
  EXPECT_THAT(overdue_after(milliseconds(599)), IsEmpty());
  EXPECT_THAT(overdue_after(milliseconds(10'000)), ElementsAre(2U));
  expect_unknown(2, ErrorCode::kUnavailable);
}

TEST_F(Parts, WhenItsNodeIsGoneNobodyKnows) {
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kDeadlineExceeded, ErrorCode::kOverloaded,
                               ErrorCode::kInvalidArgument}) {
    parts_.begin(1);
    parts_.lost(1);
    expect_unknown(1, code);
  }
}

TEST_F(Parts, ALostSessionIsLostForCertain) {
  for (const ErrorCode code : {ErrorCode::kSessionLost, ErrorCode::kSessionExpired}) {
    parts_.begin(1);
    parts_.lost(1);
    expect_certain(1, code, code);
  }
}

TEST_F(Parts, ANumberMayBeTakenAnew) {
  parts_.begin(1);
  EXPECT_TRUE(parts_.stop(1, ErrorCode::kCancelled, start_));
  parts_.end(1);
  parts_.begin(1);
  EXPECT_FALSE(parts_.stopped(1));
  EXPECT_THAT(overdue_after(milliseconds(10'000)), IsEmpty()) << "that was another part";
  EXPECT_EQ(parts_.size(), 1U);
}

}  // namespace
}  // namespace volvox
