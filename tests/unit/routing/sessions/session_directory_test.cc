#include "routing/sessions/session_directory.h"

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

class Directory : public ::testing::Test {
 protected:
  static SessionRequest begin(std::uint64_t id, HolderName client = {"a"}, SessionNonce nonce = {}) {
    SessionRequest request = Desk::request(id, 0, 0);
    request.verb = SessionVerb::kBegin;
    request.client = client;
    request.nonce = nonce;
    return request;
  }
  static SessionRequest next(std::uint64_t id, HolderName client = {"a"}) {
    SessionRequest request = Desk::request(id, 1, 0);
    request.client = client;
    return request;
  }
  static SessionLimits two_each() {
    SessionLimits limits = small_limits();
    limits.max_remembered = 1;
    limits.share.sessions = 2;
    return limits;
  }
  ErrorCode refusal(const SessionRequest& request) const {
    const auto found = directory_.locate(request);
    EXPECT_FALSE(found);
    return found ? ErrorCode::kInternal : found.error().code;
  }
  SessionStats stats() const {
    SessionStats stats;
    directory_.count(stats);
    return stats;
  }

  SessionDirectory directory_{two_each()};
};

TEST_F(Directory, FindsASessionByItsId) {
  EXPECT_EQ(refusal(next(1)), ErrorCode::kSessionLost);
  EXPECT_FALSE(directory_.knows({0, 1}));
  const std::uint32_t session = directory_.enter(begin(1));
  EXPECT_TRUE(directory_.knows({0, 1}));
  EXPECT_EQ(directory_.locate(next(1)), session);
  EXPECT_EQ(refusal(next(1, {"b"})), ErrorCode::kPermissionDenied);
  EXPECT_EQ(refusal(next(0)), ErrorCode::kInvalidArgument);
  SessionRequest other = next(1);
  other.epoch = 6;
  EXPECT_EQ(refusal(other), ErrorCode::kInvalidArgument);
  other.epoch = 8;
  EXPECT_EQ(refusal(other), ErrorCode::kSessionLost);
  other = next(1);
  other.model.digest = 9;
  EXPECT_EQ(refusal(other), ErrorCode::kInvalidArgument);
}

TEST_F(Directory, FindsASessionByTheNonceOfItsBegin) {
  EXPECT_EQ(directory_.locate(begin(1, {"a"}, {5})), kNoIndex);
  const std::uint32_t session = directory_.enter(begin(1, {"a"}, {5}));
  EXPECT_EQ(directory_.locate(begin(2, {"a"}, {5})), session);
  EXPECT_EQ(directory_.locate(begin(2, {"b"}, {5})), kNoIndex) << "another client's";
  EXPECT_EQ(directory_.locate(begin(2, {"a"}, {6})), kNoIndex);
  EXPECT_EQ(directory_.locate(begin(2, {"a"})), kNoIndex) << "no nonce: always a new one";
  SessionRequest second = begin(2);
  second.sequence = 1;
  EXPECT_EQ(refusal(second), ErrorCode::kInvalidArgument);
}

TEST_F(Directory, ASessionIsFoundUntilItIsForgotten) {
  const std::uint32_t session = directory_.enter(begin(1, {"a"}, {5}));
  const SessionRef ref = directory_.ref(session);
  EXPECT_EQ(directory_.find_live({0, 1}), ref);
  directory_.end(session, SessionEnd::kExpired);
  EXPECT_EQ(directory_.find_live({0, 1}), std::nullopt);
  EXPECT_EQ(directory_.ended(session), SessionEnd::kExpired);
  directory_.remember(session, {});
  EXPECT_EQ(directory_.locate(next(1)), session);
  EXPECT_EQ(directory_.locate(begin(2, {"a"}, {5})), session);
  directory_.forget(session);
  EXPECT_EQ(refusal(next(1)), ErrorCode::kSessionLost);
  EXPECT_EQ(directory_.locate(begin(2, {"a"}, {5})), kNoIndex);
  EXPECT_FALSE(directory_.valid(ref));
}

TEST_F(Directory, ASessionCountsUntilTheDeviceHasLetGo) {
  const std::uint32_t session = directory_.enter(begin(1));
  EXPECT_TRUE(directory_.check_share({"a"}));
  directory_.enter(begin(2));
  EXPECT_FALSE(directory_.check_share({"a"}));
  EXPECT_TRUE(directory_.check_share({"b"}));
  EXPECT_TRUE(directory_.check_share({})) << "nobody knows who: many, perhaps";
  directory_.end(session, SessionEnd::kEnded);
  EXPECT_FALSE(directory_.check_share({"a"}));
  EXPECT_EQ(stats().ending, 1U);
  directory_.remember(session, {});
  EXPECT_TRUE(directory_.check_share({"a"}));
  EXPECT_EQ(stats().ending, 0U);
  EXPECT_EQ(stats().live, 1U);
  EXPECT_EQ(stats().over_share, 2U);
}

TEST_F(Directory, TheFirstThatEndedIsForgottenFirst) {
  EXPECT_EQ(directory_.oldest(), std::nullopt);
  const std::uint32_t first = directory_.enter(begin(1)), second = directory_.enter(begin(2));
  for (const std::uint32_t session : {second, first}) {
    EXPECT_EQ(directory_.one_too_many(), std::nullopt);
    directory_.end(session, SessionEnd::kEnded);
    directory_.remember(session, TimePoint{} + (session == second ? 1 : 2) * kSecond);
  }
  EXPECT_EQ(directory_.one_too_many(), second);
  EXPECT_EQ(directory_.oldest(), TimePoint{} + kSecond);
  EXPECT_EQ(directory_.remembered_since({}), std::nullopt);
  EXPECT_EQ(directory_.remembered_since(TimePoint{} + kSecond), second);
  directory_.forget(second);
  EXPECT_EQ(directory_.one_too_many(), std::nullopt);
  EXPECT_EQ(directory_.remembered_since(TimePoint{} + kSecond), std::nullopt);
}

}  // namespace
}  // namespace volvox::desk
