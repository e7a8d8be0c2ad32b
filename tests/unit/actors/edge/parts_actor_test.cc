#include "actors/edge/parts_actor.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/edge/large_answer.h"
#include "tests/unit/actors/stage.h"
#include "tests/unit/base/failing_new.h"

namespace volvox {
namespace {

// An actor of parts between a runner that only remembers and a sink that only remembers.
class PartsActor : public testing::Test {
 protected:
  PartsActor() {
    runner_ = stage_.system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const RunWorks& run) { seen_ = *run.works; },
              [this](const CancelWorks& cancel) {
                cancelled_.insert(cancelled_.end(), cancel.keys->begin(), cancel.keys->end());
              }};
    });
  }
  ~PartsActor() override {
    seen_.clear();
    parts_ = nullptr;
    caf::anon_send_exit(runner_, caf::exit_reason::user_shutdown);
    runner_ = nullptr;
    stage_.run();
  }

  static std::shared_ptr<IncomingRequest> part(std::uint64_t key, bool of_a_session) {
    auto request = new_request(key);
    if (of_a_session) request->header.session.emplace().operation = SessionOperation::kContinue;
    return request;
  }
  // One that came in a message of its own.
  static std::shared_ptr<IncomingRequest> lone_part(std::uint64_t key, const ClientId& client,
                                                    std::uint64_t id) {
    auto request = part(key, false);
    request->client = client;
    request->header.request_id = id;
    return request;
  }
  void start(std::vector<RequestPtr> parts, std::optional<PartsSetup::Bundle> bundle) {
    parts_ = spawn_parts_actor(stage_.system, {sink_, runner_, std::move(parts), bundle});
    stage_.run();
    ASSERT_FALSE(seen_.empty());
  }
  void start_bundle(std::vector<RequestPtr> parts) { start(std::move(parts), PartsSetup::Bundle{1, {}}); }
  void start_lone(std::vector<RequestPtr> parts) { start(std::move(parts), std::nullopt); }
  std::vector<std::uint64_t> answered() const {
    std::vector<std::uint64_t> keys;
    for (const RecordingSink::Answer& answer : sink_->answers) keys.push_back(answer.key);
    return keys;
  }
  static std::shared_ptr<const ClientId> client(const char* name) {
    return std::make_shared<const ClientId>(name);
  }
  template <class Message>
  void tell(Message message) {
    caf::anon_send(parts_, message);
    stage_.run();
  }

  Stage stage_;
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  caf::actor runner_, parts_;
  std::vector<WorkPtr> seen_;
  std::vector<std::uint64_t> cancelled_;
};

TEST_F(PartsActor, PartsThatWereGivenUpAreAnsweredWhenTheProcessEnds) {
  start_bundle({part(1, true), part(2, true), part(3, false)});
  tell(ClientLost{client("")});
  EXPECT_EQ(cancelled_, (std::vector<std::uint64_t>{1, 2, 3}));
  ASSERT_EQ(sink_->answers.size(), 1U) << "parts of sessions are decided by whoever keeps the session";
  EXPECT_EQ(sink_->answers[0].key, 3U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kCancelled);
  EXPECT_FALSE(sink_->answers[0].undecided);

  tell(AbortAtom::value);
  EXPECT_EQ(cancelled_.size(), 3U) << "the runner knows";
  ASSERT_EQ(sink_->answers.size(), 3U);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(sink_->answers[i].key, i);
    EXPECT_EQ(sink_->answers[i].error->code, ErrorCode::kUnavailable);
    EXPECT_TRUE(sink_->answers[i].undecided) << "the part may have been done";
  }

  for (const WorkPtr& work : seen_) work->settle(Outcome{});
  stage_.run();
  EXPECT_EQ(sink_->answers.size(), 3U) << "each is answered once";
  EXPECT_EQ(stage_.system.registry().running(), 1U) << "only the runner is left";
}

TEST_F(PartsActor, WhatTheSessionDecidedIsSaidThoughThePartWasGivenUp) {
  start_bundle({part(1, true), part(2, true)});
  tell(ClientLost{client("")});
  EXPECT_TRUE(sink_->answers.empty());
  for (const WorkPtr& work : seen_) work->settle(Outcome{});
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 2U);
  EXPECT_TRUE(std::none_of(sink_->answers.begin(), sink_->answers.end(),
                           [](const RecordingSink::Answer& answer) { return answer.error.has_value(); }));
}

TEST_F(PartsActor, PartsThatCameAloneAreEachAnsweredAsSoonAsTheyAreDone) {
  start_lone({lone_part(1, "a", 1), lone_part(2, "a", 2), lone_part(3, "b", 1)});
  ASSERT_EQ(seen_.size(), 3U);
  seen_[1]->settle(Outcome{});
  stage_.run();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{2})) << "nobody waits for the others";
  seen_[2]->settle(Outcome{});
  seen_[0]->settle({ErrorCode::kInternal, "no"});
  stage_.run();
  ASSERT_EQ(answered(), (std::vector<std::uint64_t>{2, 3, 1}));
  EXPECT_FALSE(sink_->answers[1].error);
  EXPECT_EQ(sink_->answers[2].error->message, "no");
  EXPECT_EQ(stage_.system.registry().running(), 1U) << "only the runner is left";
}

TEST_F(PartsActor, AClientsCancelIsNothingToOthersThatNumberTheirRequestsTheSameWay) {
  start_lone({lone_part(1, "a", 1), lone_part(2, "b", 1), lone_part(3, "b", 2), lone_part(4, "a", 2)});
  tell(CancelIds{client("b"), 1, 1});
  EXPECT_EQ(cancelled_, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{2}));
  tell(ClientLost{client("a"), true});
  EXPECT_EQ(cancelled_, (std::vector<std::uint64_t>{2, 1, 4}));
  ASSERT_EQ(answered(), (std::vector<std::uint64_t>{2, 1, 4}));
  EXPECT_EQ(sink_->answers[0].error->message, kCancelledByClient);
  EXPECT_EQ(sink_->answers[1].error->message, kSaidNothing);
  for (const WorkPtr& work : seen_) work->settle(Outcome{});
  stage_.run();
  ASSERT_EQ(answered(), (std::vector<std::uint64_t>{2, 1, 4, 3})) << "each is answered once";
  EXPECT_FALSE(sink_->answers[3].error);
}

TEST_F(PartsActor, WhoeverWritesLargeAnswersIsLeftThem) {
  std::vector<std::shared_ptr<LargeAnswer>> left;
  caf::actor writer = stage_.system.spawn([&left](caf::event_based_actor*) -> caf::behavior {
    return {[&left](const WriteAnswer& write) { left.push_back(write.answer); }};
  });
  const auto slot = std::make_shared<ActorSlot>();
  slot->set(writer);
  const auto large = lone_part(1, "a", 1), small = lone_part(2, "a", 2);
  large->writer = small->writer = slot;
  start_lone({large, small});
  const std::vector<std::byte> bytes(1'000'000);
  WireTensor output;
  output.bytes = bytes;
  Outcome outcome;
  outcome.outputs = {&output, 1};
  seen_[0]->settle(std::move(outcome));
  seen_[1]->settle(Outcome{});
  stage_.run();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{2}));
  ASSERT_EQ(left.size(), 1U);
  left[0]->write();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{2, 1}));
  left.clear();
  caf::anon_send_exit(writer, caf::exit_reason::user_shutdown);
}

// Those behind one for which there is no memory have their answers all the same.
TEST_F(PartsActor, EachIsAnsweredOnceThoughMemoryIsShort) {
  if (!test::FailingNew::kWorks) GTEST_SKIP() << "a sanitizer finds memory always";
  const std::vector<std::byte> bytes(1'000'000);
  WireTensor output;
  output.bytes = bytes;
  std::vector<std::shared_ptr<LargeAnswer>> left;
  left.reserve(100);
  caf::actor writer = stage_.system.spawn([&left](caf::event_based_actor*) -> caf::behavior {
    return {[&left](const WriteAnswer& write) { left.push_back(write.answer); }};
  });
  const auto slot = std::make_shared<ActorSlot>();
  slot->set(writer);
  bool failed = true;
  for (int nth = 0; failed; ++nth) {
    std::vector<RequestPtr> parts;
    for (std::uint64_t key = 1; key <= 4; ++key) {
      const auto part = lone_part(key, "a", key);
      part->writer = slot;
      parts.push_back(part);
    }
    sink_->answers.clear();
    sink_->answers.reserve(100);
    start_lone(parts);
    for (const WorkPtr& work : std::exchange(seen_, {})) {
      Outcome outcome;
      if (work->request().key < 3) outcome.outputs = {&output, 1};
      work->settle(std::move(outcome));
    }
    {
      const test::FailingNew failing(nth);
      stage_.run();
      failed = test::FailingNew::failed();
    }
    for (const auto& answer : left) answer->write();
    left.clear();
    std::vector<std::uint64_t> keys = answered();
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, (std::vector<std::uint64_t>{1, 2, 3, 4})) << "with allocation " << nth << " failing";
  }
  caf::anon_send_exit(writer, caf::exit_reason::user_shutdown);
}

TEST_F(PartsActor, WithoutARunnerAllAreToldSo) {
  parts_ = spawn_parts_actor(stage_.system,
                             {sink_, {}, {lone_part(1, "a", 1), lone_part(2, "b", 1)}, std::nullopt});
  stage_.run();
  ASSERT_EQ(answered(), (std::vector<std::uint64_t>{1, 2}));
  for (const RecordingSink::Answer& answer : sink_->answers)
    EXPECT_EQ(answer.error->code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace volvox
