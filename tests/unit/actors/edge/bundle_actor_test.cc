#include "actors/edge/bundle_actor.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/actors/stage.h"

namespace volvox {
namespace {

// A bundle's actor between a runner that only remembers and a sink that only remembers.
class BundleActor : public testing::Test {
 protected:
  BundleActor() {
    runner_ = stage_.system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const RunWorks& run) { seen_ = *run.works; },
              [this](const CancelWorks& cancel) {
                cancelled_.insert(cancelled_.end(), cancel.keys->begin(), cancel.keys->end());
              }};
    });
  }
  ~BundleActor() override {
    seen_.clear();
    bundle_ = nullptr;
    caf::anon_send_exit(runner_, caf::exit_reason::user_shutdown);
    runner_ = nullptr;
    stage_.run();
  }

  static RequestPtr part(std::uint64_t key, bool of_a_session) {
    const auto request = new_request(key);
    if (of_a_session) request->header.session.emplace().operation = SessionOperation::kContinue;
    return request;
  }
  void start(std::vector<RequestPtr> parts) {
    bundle_ = spawn_bundle_actor(stage_.system, {sink_, runner_, 1, std::move(parts), {}});
    stage_.run();
    ASSERT_FALSE(seen_.empty());
  }
  template <class Message>
  void tell(Message message) {
    caf::anon_send(bundle_, message);
    stage_.run();
  }

  Stage stage_;
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  caf::actor runner_, bundle_;
  std::vector<WorkPtr> seen_;
  std::vector<std::uint64_t> cancelled_;
};

TEST_F(BundleActor, PartsThatWereGivenUpAreAnsweredWhenTheProcessEnds) {
  start({part(1, true), part(2, true), part(3, false)});
  tell(CancelAtom::value);
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

TEST_F(BundleActor, WhatTheSessionDecidedIsSaidThoughThePartWasGivenUp) {
  start({part(1, true), part(2, true)});
  tell(CancelAtom::value);
  EXPECT_TRUE(sink_->answers.empty());
  for (const WorkPtr& work : seen_) work->settle(Outcome{});
  stage_.run();
  ASSERT_EQ(sink_->answers.size(), 2U);
  EXPECT_TRUE(std::none_of(sink_->answers.begin(), sink_->answers.end(),
                           [](const RecordingSink::Answer& answer) { return answer.error.has_value(); }));
}

}  // namespace
}  // namespace volvox
