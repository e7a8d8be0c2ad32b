#include "actors/http/http_sequences.h"

#include <thread>

#include <gmock/gmock.h>
#include <prometheus/registry.h>

#include "base/clock.h"
#include "tests/unit/actors/patience.h"

namespace volvox {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using Turn = SequencePlace::Turn;

const std::string kId = "7";

// One model's sequences, and what its sessions would answer.
class Sequences : public testing::Test {
 protected:
  static SequenceRequest request(const std::string& id, bool start, bool end, std::uint64_t content = 1) {
    SequenceRequest request;
    request.model = "m";
    request.sequence = {kId, start, end};
    request.version = start ? 3 : 0;
    request.id = id;
    request.content = content;
    return request;
  }
  static SequenceRequest begin(const std::string& id = "", std::uint64_t content = 1) {
    return request(id, true, false, content);
  }
  static SequenceRequest part(const std::string& id = "", std::uint64_t content = 1) {
    return request(id, false, false, content);
  }
  static SequenceRequest end(const std::string& id = "") { return request(id, false, true); }

  std::unique_ptr<SequencePlace> enter(const SequenceRequest& request) {
    auto place = table_.enter(request, now_);
    if (place) return std::move(*place);
    ADD_FAILURE() << place.error().content;
    return nullptr;
  }
  void expect_refused(const SequenceRequest& request, int status, ErrorCode code, const char* says) {
    const auto place = table_.enter(request, now_);
    ASSERT_FALSE(place);
    expect(place.error(), status, code, says);
  }
  static void expect(const HttpReply& reply, int status, ErrorCode code, const char* says) {
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.error, code);
    EXPECT_THAT(reply.content, HasSubstr(says));
  }
  static void expect_refused(SequencePlace& place, int status, const char* says) {
    const auto turn = place.wait_for(Duration::zero());
    ASSERT_TRUE(turn && !*turn);
    expect(turn->error(), status, ErrorCode::kInvalidArgument, says);
  }
  static WireSessionToken token_of(SequencePlace& place) {
    const auto turn = place.wait_for(Duration::zero());
    EXPECT_TRUE(turn && *turn);
    return turn && *turn ? **turn : WireSessionToken{};
  }
  static bool waits(SequencePlace& place) { return !place.wait_for(Duration::zero()); }

  static Outcome done(const WireSessionToken& token) {
    Outcome outcome;
    outcome.session = token;
    outcome.session->id_lo = 99;
    return outcome;
  }
  static Outcome failed(ErrorCode code) {
    Outcome outcome;
    outcome.error = Error{code, "as the session said"};
    return outcome;
  }
  // The request runs, and is answered.
  WireSessionToken run(const SequenceRequest& request) {
    const auto place = enter(request);
    if (!place) return {};
    const WireSessionToken token = token_of(*place);
    place->ended(done(token));
    return token;
  }
  double known() {
    for (const auto& family : registry_.Collect())
      if (family.name == "volvox_http_sequences") return family.metric[0].gauge.value;
    return -1;
  }

  prometheus::Registry registry_;
  HttpMetrics metrics_{registry_};
  HttpSequences table_{{2, 2, seconds(100), seconds(10)}, metrics_};
  TimePoint now_ = steady_now();
};

TEST_F(Sequences, NumberTheirParts) {
  const WireSessionToken first = run(begin());
  EXPECT_EQ(first.operation, SessionOperation::kBegin);
  EXPECT_NE(first.nonce, 0U);
  for (std::uint64_t number = 1; number < 4; ++number) {
    const WireSessionToken token = run(part());
    EXPECT_EQ(token.operation, SessionOperation::kContinue);
    EXPECT_EQ(token.sequence, number);
    EXPECT_EQ(token.id_lo, 99U);
  }
  EXPECT_EQ(known(), 1);
  EXPECT_EQ(run(end()).operation, SessionOperation::kEnd);
  EXPECT_EQ(known(), 0);
  expect_refused(part(), 410, ErrorCode::kSessionLost, "there is no sequence 7");
  EXPECT_NE(run(begin()).nonce, first.nonce);
}

TEST_F(Sequences, AnIdIsOfOneModel) {
  run(begin());
  SequenceRequest other = part();
  other.model = "n";
  expect_refused(other, 410, ErrorCode::kSessionLost, "there is no sequence 7");
}

TEST_F(Sequences, AnIdInUseIsNotTakenOver) {
  run(begin());
  expect_refused(begin(), 409, ErrorCode::kInvalidArgument, "is in use");
  expect_refused(begin("a"), 409, ErrorCode::kInvalidArgument, "is in use");
  expect_refused(request("", true, true), 409, ErrorCode::kInvalidArgument, "is in use");
  EXPECT_EQ(run(part()).sequence, 1U);
}

TEST_F(Sequences, AWholeOneNeedsNoPlace) {
  const auto place = table_.enter(request("", true, true), now_);
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, nullptr);
  EXPECT_EQ(known(), 0);
}

TEST_F(Sequences, KeepTheVersionThatTheyBeganWith) {
  run(begin());
  EXPECT_EQ(enter(part())->version(), 3U);
  SequenceRequest other = part();
  other.version = 4;
  expect_refused(other, 400, ErrorCode::kInvalidArgument, "began with version 3");
}

TEST_F(Sequences, ARepeatIsTheSamePart) {
  const WireSessionToken first = run(begin("a"));
  EXPECT_EQ(run(begin("a")), first);
  const WireSessionToken second = run(part("b"));
  EXPECT_EQ(second.sequence, 1U);
  EXPECT_EQ(run(part("b")), second);
  EXPECT_EQ(run(part("c")).sequence, 2U);
  const WireSessionToken last = run(end("d"));
  EXPECT_EQ(run(end("d")), last);
  expect_refused(part("e"), 410, ErrorCode::kSessionExpired, "has ended");
  EXPECT_EQ(run(begin("a")).sequence, 0U);  // a new one
}

TEST_F(Sequences, WithoutAnIdNothingIsARepeat) {
  run(begin());
  EXPECT_EQ(run(part()).sequence, 1U);
  EXPECT_EQ(run(part()).sequence, 2U);
}

// A client that gives all its requests one id is told so, and gets no answer to another's question.
TEST_F(Sequences, AnIdIsOfOneRequest) {
  run(begin("a", 1));
  const auto place = enter(part("a", 2));
  expect_refused(*place, 409, "another content");
  EXPECT_EQ(run(part("b", 2)).sequence, 1U);
}

// What a client has sent twice may come after it has gone on.
TEST_F(Sequences, ARequestThatComesLateIsNoNewPart) {
  run(begin("a"));
  run(part("b"));
  run(part("c"));
  expect_refused(part("b"), 409, ErrorCode::kInvalidArgument, "only its newest request can be repeated");
  expect_refused(part("a"), 409, ErrorCode::kInvalidArgument, "only its newest request can be repeated");
  const auto first = enter(part("d")), late = enter(part("c")), behind = enter(part("e"));
  first->ended(done(token_of(*first)));
  expect_refused(*late, 409, "only its newest request can be repeated");
  EXPECT_EQ(token_of(*behind).sequence, 4U);
}

TEST_F(Sequences, OneRequestAtATimeInTheirOrder) {
  const auto first = enter(begin()), second = enter(part()), third = enter(part());
  EXPECT_TRUE(waits(*second));
  first->ended(done(token_of(*first)));
  EXPECT_EQ(token_of(*second).sequence, 1U);
  EXPECT_TRUE(waits(*third));
  second->ended(done(token_of(*second)));
  EXPECT_EQ(token_of(*third).sequence, 2U);
}

TEST_F(Sequences, ARequestIsWokenWhenItIsItsTurn) {
  const auto first = enter(begin()), second = enter(part());
  std::thread ends([&] { first->ended(done(token_of(*first))); });
  const auto turn = second->wait_for(kLongEnough);
  ends.join();
  ASSERT_TRUE(turn && *turn);
  EXPECT_EQ((*turn)->sequence, 1U);
}

TEST_F(Sequences, TheLineIsBounded) {
  const auto first = enter(begin()), second = enter(part()), third = enter(part());
  expect_refused(part(), 429, ErrorCode::kOverloaded, "sessions.max_waiting");
}

TEST_F(Sequences, AFailedPartTakesThoseBehindItAlong) {
  run(begin());
  const auto bad = enter(part()), behind = enter(part());
  bad->ended(failed(ErrorCode::kDeadlineExceeded));
  expect_refused(*behind, 409, "send both again");
  EXPECT_EQ(run(part()).sequence, 1U);  // no trace
}

TEST_F(Sequences, OneThatGivesUpInLineDoesSoToo) {
  const auto first = enter(begin());
  auto gives_up = enter(part());
  const auto behind = enter(part());
  gives_up.reset();
  expect_refused(*behind, 409, "was given up");
  first->ended(done(token_of(*first)));
  EXPECT_EQ(run(part()).sequence, 1U);
}

TEST_F(Sequences, TheSameAgainTakesThePlaceOfOneThatFailed) {
  run(begin());
  const auto bad = enter(part("a")), between = enter(part("b")), again = enter(part("a"));
  bad->ended(failed(ErrorCode::kCancelled));
  expect_refused(*between, 409, "send both again");
  EXPECT_EQ(token_of(*again).sequence, 1U);
  again->ended(done(token_of(*again)));
  // And one that comes while the first one runs, which then succeeds, is a repeat.
  const auto runs = enter(part("c")), repeat = enter(part("c"));
  runs->ended(done(token_of(*runs)));
  EXPECT_EQ(token_of(*repeat), token_of(*runs));
}

TEST_F(Sequences, ABeginThatFailsLeavesNothing) {
  const auto first = enter(begin()), behind = enter(part());
  first->ended(failed(ErrorCode::kOverloaded));
  expect_refused(*behind, 409, "failed");
  EXPECT_EQ(known(), 0);
  run(begin());
}

TEST_F(Sequences, ASessionThatIsGoneTakesItsSequenceAlong) {
  for (const ErrorCode code : {ErrorCode::kSessionLost, ErrorCode::kSessionExpired}) {
    run(begin());
    const auto runs = enter(part()), behind = enter(part());
    runs->ended(failed(code));
    const auto turn = behind->wait_for(Duration::zero());
    ASSERT_TRUE(turn && !*turn);
    expect(turn->error(), 410, ErrorCode::kSessionLost, "there is no sequence 7");
    EXPECT_EQ(known(), 0);
  }
}

// After INTERNAL nobody knows whether the part was done. Only the same again can tell.
TEST_F(Sequences, WhatTheServerLostIsNotGuessed) {
  run(begin("a"));
  {
    const auto lost = enter(part("b"));
    lost->ended(failed(ErrorCode::kInternal));
  }
  const WireSessionToken again = run(part("b"));
  EXPECT_EQ(again.sequence, 1U);
  EXPECT_EQ(run(part("c")).sequence, 2U);
  enter(part("d"))->ended(failed(ErrorCode::kInternal));
  const auto other = enter(part("e"));
  const auto turn = other->wait_for(Duration::zero());
  ASSERT_TRUE(turn && !*turn);
  expect(turn->error(), 410, ErrorCode::kSessionLost, "the server lost the request");
  EXPECT_EQ(known(), 0);
}

TEST_F(Sequences, WhatTheServerLostDoesNotBlockTheId) {
  enter(begin())->ended(failed(ErrorCode::kInternal));
  EXPECT_EQ(known(), 1);
  EXPECT_EQ(run(begin()).operation, SessionOperation::kBegin);
}

TEST_F(Sequences, AreBounded) {
  SequenceRequest other = begin("x");
  run(begin("a"));
  other.sequence.id = "8";
  run(other);
  SequenceRequest third = begin();
  third.sequence.id = "9";
  expect_refused(third, 429, ErrorCode::kOverloaded, "http.max_sequences");
  // One that has ended gives way.
  run(end("b"));
  EXPECT_EQ(known(), 2);
  now_ = steady_now();
  run(third);
  EXPECT_EQ(known(), 2);
}

TEST_F(Sequences, OneClientLeavesRoomToOthers) {
  HttpSequences table({10, 2, seconds(100), seconds(100), 2}, metrics_);
  const auto begin_as = [&](const char* id, const char* client) {
    SequenceRequest request = begin();
    request.sequence.id = id;
    request.client = client;
    return table.enter(request, now_);
  };
  auto first = begin_as("1", "a"), second = begin_as("2", "a"), third = begin_as("3", "a");
  ASSERT_TRUE(first && second);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().status, 429);
  EXPECT_THAT(third.error().content, testing::HasSubstr("http.max_sequences_per_client"));
  auto others = begin_as("3", "b");
  EXPECT_TRUE(others);
  first->reset();  // never ran, and is forgotten
  EXPECT_TRUE(begin_as("4", "a"));
}

TEST_F(Sequences, AreForgottenInTime) {
  run(begin("a"));
  const auto in_use = enter(part("b"));
  now_ = steady_now();
  table_.tidy(now_ + seconds(200));
  EXPECT_EQ(known(), 1);
  in_use->ended(done(token_of(*in_use)));
  now_ = steady_now();
  table_.tidy(now_ + seconds(250));
  EXPECT_EQ(known(), 0);
  expect_refused(part("c"), 410, ErrorCode::kSessionLost, "idle for too long");
}

TEST_F(Sequences, AnEndIsRememberedForItsOwnTime) {
  run(begin("a"));
  run(end("b"));
  now_ = steady_now();
  table_.tidy(now_ + seconds(5));
  EXPECT_EQ(known(), 1);
  table_.tidy(now_ + seconds(20));
  EXPECT_EQ(known(), 0);
}

}  // namespace
}  // namespace volvox
