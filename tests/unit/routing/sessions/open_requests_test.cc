#include "routing/sessions/open_requests.h"

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

constexpr std::uint32_t kSession = 3;

class Requests : public ::testing::Test {
 protected:
  Requests() { requests_.enter(kSession, 1); }

  Result<SessionTicket> take(std::uint64_t sequence, std::uint64_t key, std::uint64_t content = 0) {
    SessionRequest request = Desk::request(1, sequence, key);
    request.memory.bytes = 10;
    request.content = {content, 0};
    return requests_.take(kSession, request);
  }
  std::vector<std::uint64_t> park(TimePoint now = {}) {
    std::vector<OpenRequest> refused;
    requests_.park(kSession, now, refused);
    std::vector<std::uint64_t> keys;
    for (const OpenRequest& request : refused) keys.push_back(request.request);
    return keys;
  }

  OpenRequests requests_{3, {.parts = 2, .parts_per_client = 2, .bytes = 100}};
};

TEST_F(Requests, ComeInTheOrderOfTheirParts) {
  EXPECT_TRUE(take(2, 12));
  EXPECT_EQ(requests_.ready(kSession), nullptr);
  EXPECT_TRUE(take(0, 10));
  EXPECT_TRUE(take(0, 20)) << "a repeat";
  ASSERT_NE(requests_.ready(kSession), nullptr);
  EXPECT_EQ(requests_.pop(kSession).request, 10U);
  EXPECT_EQ(requests_.pop(kSession).request, 20U);
  EXPECT_EQ(requests_.ready(kSession), nullptr);
  requests_.advance(kSession);
  EXPECT_TRUE(take(1, 11));
  EXPECT_EQ(requests_.pop(kSession).request, 11U);
  requests_.advance(kSession);
  EXPECT_EQ(requests_.pop(kSession).request, 12U);
  EXPECT_TRUE(requests_.empty(kSession));
}

TEST_F(Requests, ThePartThatComesNextAlwaysFindsRoom) {
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) EXPECT_TRUE(take(sequence, sequence));
  EXPECT_EQ(take(3, 33).error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(take(4, 4).error().code, ErrorCode::kOverloaded) << "too far ahead";
  EXPECT_TRUE(take(0, 10));
  EXPECT_EQ(take(0, 20).error().code, ErrorCode::kOverloaded);
}

TEST_F(Requests, OnlyTheSameIsARepeat) {
  EXPECT_TRUE(take(0, 10, 1));
  EXPECT_EQ(take(0, 20, 2).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(requests_.conflicts(), 1U);
  SessionRequest end = Desk::request(1, 0, 30);
  end.verb = SessionVerb::kEnd;
  end.content = {1, 0};
  EXPECT_EQ(requests_.take(kSession, end).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(requests_.count(), 1U);
}

TEST_F(Requests, AreWithdrawnOnce) {
  const SessionTicket ticket = take(0, 10).value();
  EXPECT_EQ(requests_.withdraw(ticket)->request, 10U);
  EXPECT_FALSE(requests_.withdraw(ticket));
  EXPECT_TRUE(take(0, 20));
  EXPECT_FALSE(requests_.withdraw(ticket)) << "the same record, and another request";
  EXPECT_FALSE(requests_.withdraw({}));
}

TEST_F(Requests, WaitForAMissingPartAsFarAsThereIsRoom) {
  EXPECT_TRUE(take(1, 11));
  EXPECT_EQ(park(TimePoint{} + kSecond), std::vector<std::uint64_t>{});
  EXPECT_TRUE(take(2, 12));
  EXPECT_TRUE(take(3, 13));
  EXPECT_EQ(park(TimePoint{} + 2 * kSecond), std::vector<std::uint64_t>{13});
  EXPECT_EQ(requests_.first_stuck(), kSession);
  EXPECT_EQ(requests_.stuck_since(kSession), TimePoint{} + kSecond) << "since the first of them";
  EXPECT_EQ(requests_.parked().parts(), 2U);
  EXPECT_EQ(requests_.pop(kSession).request, 11U);
  EXPECT_EQ(requests_.parked().parts(), 1U);
  requests_.unpark(kSession);
  EXPECT_EQ(requests_.first_stuck(), kNoIndex);
  EXPECT_EQ(requests_.parked().bytes(), 0U);
  EXPECT_FALSE(requests_.empty(kSession));
}

TEST_F(Requests, WhoHasNothingWaitsForNothing) {
  const SessionTicket ticket = take(1, 11).value();
  park();
  requests_.withdraw(ticket);
  park();
  EXPECT_EQ(requests_.first_stuck(), kNoIndex);
}

}  // namespace
}  // namespace volvox::desk
