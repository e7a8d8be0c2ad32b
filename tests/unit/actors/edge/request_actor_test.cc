#include "actors/edge/request_actor.h"

#include <chrono>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "actors/edge/large_answer.h"
#include "tests/unit/actors/stage.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;

// A request actor between a runner that only remembers and a sink that only remembers.
class RequestActor : public testing::Test {
 protected:
  ~RequestActor() override {
    seen_.clear();
    request_ = nullptr;
    caf::anon_send_exit(runner_, caf::exit_reason::user_shutdown);
    runner_ = nullptr;
    stage_.run();
  }

  void spawn(RequestPtr request) {
    runner_ = stage_.system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const RunWork& run) { seen_.push_back(run.work); },
              [this](const CancelWork& cancel) { cancelled_.push_back(cancel.key); }};
    });
    request_ = spawn_request_actor(stage_.system, sink_, runner_, std::move(request));
  }
  void start(RequestPtr request) {
    spawn(std::move(request));
    stage_.run();
  }
  bool ended() { return stage_.system.registry().running() == 1; }  // only the runner is left

  Stage stage_;
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  caf::actor runner_, request_;
  std::vector<WorkPtr> seen_;
  std::vector<std::uint64_t> cancelled_;
};

TEST_F(RequestActor, SendsTheRequestOnAndAnswersOnce) {
  start(request_with(7));
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0]->request().key, 7U);
  EXPECT_TRUE(sink_->answers.empty());
  seen_[0]->settle(Outcome{});
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].key, 7U);
  EXPECT_FALSE(sink_->answers[0].error);
  EXPECT_TRUE(ended());
}

// Only a deadline has to be watched before there is an answer.
TEST_F(RequestActor, TakesNoThreadBeforeThereIsSomethingToDo) {
  spawn(request_with(7));
  EXPECT_EQ(stage_.coordinator().jobs.size(), 1U) << "the runner alone";
  stage_.run();
  seen_[0]->settle(Outcome{});
  EXPECT_EQ(stage_.coordinator().jobs.size(), 1U);
  stage_.run();
  EXPECT_EQ(sink_->answers.size(), 1U);
  EXPECT_TRUE(ended());
}

TEST_F(RequestActor, AnswersInternalWhenTheWorkIsLost) {
  start(request_with(7));
  seen_.clear();
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kInternal);
  EXPECT_TRUE(ended());
}

TEST_F(RequestActor, AnswersInternalWhenItIsKilled) {
  start(request_with(7));
  caf::anon_send_exit(request_, caf::exit_reason::kill);
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kInternal);
}

// What the runner counts and what the client is told are the same, whoever is first.
TEST_F(RequestActor, WhatIsGivenUpWhileItsAnswerIsOnItsWayIsAnsweredWithIt) {
  start(request_with(7));
  EXPECT_FALSE(seen_[0]->request().end.by_itself());
  caf::anon_send(request_, CancelAtom::value);
  stage_.run();
  EXPECT_TRUE(sink_->answers.empty());
  seen_[0]->settle(Outcome{});
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_FALSE(sink_->answers[0].error);
  EXPECT_TRUE(ended());
}

TEST_F(RequestActor, TheRunnerHearsThatTheRequestWasGivenUpBeforeItEnded) {
  start(request_with(7));
  caf::anon_send(request_, CancelAtom::value);
  stage_.run();
  EXPECT_EQ(seen_[0]->request().end.by_itself(), ErrorCode::kCancelled);
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kCancelled);
}

TEST_F(RequestActor, ACancelIsAnsweredAtOnceAndTheWorkIsWaitedFor) {
  start(request_with(7));
  caf::anon_send(request_, CancelAtom::value);
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kCancelled);
  EXPECT_EQ(cancelled_, std::vector<std::uint64_t>{7});
  EXPECT_FALSE(ended());
  caf::anon_send(request_, CancelAtom::value);
  caf::anon_send(request_, AbortAtom::value);
  seen_[0]->settle(Outcome{});
  stage_.run();
  EXPECT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(cancelled_.size(), 1U);
  EXPECT_TRUE(ended());
}

// Only the keeper of a session knows whether a part has changed it.
TEST_F(RequestActor, ACancelledPartOfASessionIsAnsweredByItsKeeper) {
  auto part = new_request(7);
  part->header.session.emplace().operation = SessionOperation::kContinue;
  start(std::move(part));
  caf::anon_send(request_, CancelAtom::value);
  stage_.run();
  EXPECT_TRUE(sink_->answers.empty());
  EXPECT_EQ(cancelled_, std::vector<std::uint64_t>{7});
  seen_[0]->settle(Outcome{});
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_FALSE(sink_->answers[0].error);
  EXPECT_TRUE(ended());
}

TEST_F(RequestActor, AnAbortIsUnavailable) {
  start(request_with(7));
  caf::anon_send(request_, AbortAtom::value);
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kUnavailable);
}

// A server that stops tells all requests that it knows of, those included that have only just come.
TEST_F(RequestActor, AnAbortMayComeAtOnce) {
  spawn(request_with(7));
  caf::anon_send(request_, AbortAtom::value);
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kUnavailable);
  EXPECT_EQ(cancelled_, std::vector<std::uint64_t>{7});
  seen_.clear();
  stage_.run();
  EXPECT_TRUE(ended());
}

// Others, who wait for the same thread, are answered meanwhile.
TEST_F(RequestActor, LeavesALargeAnswerToWhoWritesThem) {
  const auto writer = std::make_shared<ActorSlot>();
  std::vector<std::shared_ptr<LargeAnswer>> left;
  writer->set(stage_.system.spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](const WriteAnswer& write) { left.push_back(write.answer); }};
  }));
  const std::vector<std::byte> bytes(1'000'000);
  const auto answer = [&](std::uint64_t key, std::size_t size, std::shared_ptr<const WireBuffer> encoded) {
    auto request = std::make_shared<IncomingRequest>();
    request->key = key;
    request->writer = writer;
    seen_.clear();
    start(std::move(request));
    WireTensor output;
    output.bytes = std::span(bytes).first(size);
    Outcome outcome;
    outcome.outputs = {&output, 1};
    outcome.encoded = std::move(encoded);
    seen_.at(0)->settle(std::move(outcome));
    stage_.run();
    caf::anon_send_exit(runner_, caf::exit_reason::user_shutdown);
  };
  answer(7, 100, nullptr);
  EXPECT_EQ(sink_->answers.size(), 1U);
  answer(8, bytes.size(), std::make_shared<const WireBuffer>());
  EXPECT_EQ(sink_->answers.size(), 2U) << "it came encoded";
  answer(9, bytes.size(), nullptr);
  EXPECT_EQ(sink_->answers.size(), 2U);
  ASSERT_EQ(left.size(), 1U);
  left[0]->write();
  ASSERT_EQ(sink_->answers.size(), 3U);
  EXPECT_EQ(sink_->answers[2].key, 9U);
  EXPECT_FALSE(sink_->answers[2].error);
  left.clear();
  EXPECT_EQ(sink_->answers.size(), 3U) << "once";

  answer(10, bytes.size(), nullptr);
  left.clear();  // as when who should have written it has failed
  ASSERT_EQ(sink_->answers.size(), 4U);
  EXPECT_EQ(sink_->answers[3].error->code, ErrorCode::kInternal);

  caf::anon_send_exit(writer->get(), caf::exit_reason::user_shutdown);
  writer->set({});
  answer(11, bytes.size(), nullptr);
  EXPECT_EQ(sink_->answers.size(), 5U) << "nobody else is there";
}

TEST_F(RequestActor, IsUnavailableWhileNobodyRunsRequests) {
  request_ = spawn_request_actor(stage_.system, sink_, {}, request_with(7));
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kUnavailable);
  EXPECT_EQ(stage_.system.registry().running(), 0U);
}

TEST_F(RequestActor, TheDeadlineEndsIt) {
  start(request_with(7, 5'000'000));
  ASSERT_EQ(seen_.size(), 1U);
  stage_.coordinator().advance_time(std::chrono::seconds(4));
  stage_.run();
  EXPECT_TRUE(sink_->answers.empty());
  stage_.coordinator().advance_time(std::chrono::seconds(2));
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(cancelled_, std::vector<std::uint64_t>{7});
}

// Takes every part of an answer.
struct PatientSink : RecordingSink {
  bool partial(const IncomingRequest&, std::uint32_t, const Outcome&) override { return ++partials > 0; }
  int partials = 0;
};

TEST_F(RequestActor, PartsOfTheAnswerDoNotPutTheDeadlineOff) {
  const auto sink = std::make_shared<PatientSink>();
  sink_ = sink;
  start(request_with(7, 100'000));
  ASSERT_EQ(seen_.size(), 1U);
  for (int i = 0; i < 30 && sink->answers.empty(); ++i) {
    const milliseconds step(10);
    std::this_thread::sleep_for(step);  // it looks at the clock, too
    stage_.coordinator().advance_time(step);
    seen_[0]->send_partial(static_cast<std::uint32_t>(i), Outcome{});
    stage_.run();
  }
  ASSERT_EQ(sink->answers.size(), 1U);
  EXPECT_EQ(sink->answers[0].error->code, ErrorCode::kDeadlineExceeded);
  EXPECT_GT(sink->partials, 2);
  EXPECT_LT(sink->partials, 20) << "it waited from the last part on";
}

TEST_F(RequestActor, AnAbortedPartOfASessionIsUndecided) {
  auto part = new_request(7);
  part->header.session.emplace().operation = SessionOperation::kContinue;
  start(std::move(part));
  caf::anon_send(request_, AbortAtom::value);
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 1U);
  EXPECT_EQ(sink_->answers[0].error->code, ErrorCode::kUnavailable);
  EXPECT_TRUE(sink_->answers[0].undecided);
}

TEST_F(RequestActor, WithoutADeadlineTimeDoesNotMatter) {
  start(request_with(7));
  EXPECT_FALSE(stage_.coordinator().has_pending_timeout());
  stage_.coordinator().advance_time(std::chrono::hours(24));
  stage_.run();
  EXPECT_TRUE(sink_->answers.empty());
}

TEST_F(RequestActor, NoTimeoutOutlivesIt) {
  start(request_with(7, 3'600'000'000));
  EXPECT_TRUE(stage_.coordinator().has_pending_timeout());
  seen_[0]->settle(Outcome{});
  stage_.run();
  EXPECT_FALSE(stage_.coordinator().has_pending_timeout());
}

}  // namespace
}  // namespace volvox
