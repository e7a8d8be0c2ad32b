#include "tracing/recorder.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr auto kMs = std::chrono::milliseconds(1);
const TimePoint kStart{std::chrono::seconds(100)};

class Recorder : public ::testing::Test {
 protected:
  std::shared_ptr<TraceRecorder> make(std::size_t bytes = 1U << 20) {
    RecorderOptions options;
    options.capture_bytes = bytes;
    options.seed = 7;
    options.on_lost = [this](std::uint64_t count) { lost_ += count; };
    return std::make_shared<TraceRecorder>(std::move(options));
  }
  static std::shared_ptr<LiveSpan> request(TraceRecorder& recorder, TimePoint arrival, std::uint64_t key = 1,
                                           const TraceContext& context = {}) {
    auto span = recorder.begin(context, Door::kHttp, "m", 3, arrival);
    if (span) span->set_key(key);
    return span;
  }
  static TaskSpan task(TimePoint ended, std::uint64_t seq) {
    TaskSpan span;
    span.seq = seq;
    span.ended = ended;
    return span;
  }

  // Samples at this rate, and follows one a second.
  std::shared_ptr<TraceRecorder> make_sampling(double rate) {
    RecorderOptions options;
    options.seed = 7;
    options.sampling = {rate, 1, {}};
    options.on_sampled = [this](RequestSpan&& span) { sampled_.push_back(std::move(span)); };
    return std::make_shared<TraceRecorder>(std::move(options));
  }

  std::uint64_t lost_ = 0;
  std::vector<RequestSpan> sampled_;
};

TEST_F(Recorder, RecordsNothingUnlessSomebodyWatches) {
  const auto recorder = make();
  EXPECT_EQ(request(*recorder, kStart), nullptr);
  EXPECT_FALSE(recorder->wants_tasks());
  recorder->record(task(kStart, 1));
  EXPECT_EQ(recorder->finish_capture(1, kStart).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Recorder, ShowsWhatARequestReached) {
  const auto recorder = make();
  const auto number = recorder->start_capture(kStart, kStart + 100 * kMs);
  ASSERT_TRUE(number);
  auto span = request(*recorder, kStart + kMs, 5, {{1, 2}, 3, true});
  span->reach(SpanStage::kHandedOn, kStart + 2 * kMs);
  span->reach(SpanStage::kFirstTask, kStart + 4 * kMs);
  span->reach(SpanStage::kDone, kStart + 8 * kMs);
  span->reach(SpanStage::kReplied, kStart + 9 * kMs);
  span->end(std::nullopt, 12);
  EXPECT_EQ(span->child_context().trace, (TraceId{1, 2}));
  EXPECT_NE(span->child_context().parent, 3U);
  span = nullptr;
  recorder->record(task(kStart + 6 * kMs, 1));
  ASSERT_EQ(*recorder->finish_capture(*number, kStart + 99 * kMs), nullptr);
  const auto capture = *recorder->finish_capture(*number, kStart + 100 * kMs);
  ASSERT_EQ(capture->requests.size(), 1U);
  EXPECT_EQ(capture->tasks.size(), 1U);
  const RequestSpan& seen = capture->requests[0];
  EXPECT_EQ(seen.key, 5U);
  EXPECT_EQ(seen.context.parent, 3U);
  EXPECT_EQ(seen.model, "m");
  EXPECT_EQ(seen.cells, 12U);
  EXPECT_FALSE(seen.error);
  std::string parts;
  for (const SpanPart& part : parts_of(seen))
    parts += std::string(part.name) + " " + std::to_string((part.ended - part.begun) / kMs) + " ";
  EXPECT_EQ(parts, "edge 1 queue 2 compute 4 reply 1 ");
  EXPECT_EQ(recorder->finish_capture(*number, kStart + 100 * kMs).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Recorder, ARequestThatFailsEarlyHasFewerParts) {
  const auto recorder = make();
  const auto number = recorder->start_capture(kStart, kStart + 10 * kMs);
  auto span = request(*recorder, kStart);
  span->end(ErrorCode::kDeadlineExceeded, 0);
  span->reach(SpanStage::kReplied, kStart + 3 * kMs);
  span = nullptr;
  const auto capture = *recorder->finish_capture(*number, kStart + 10 * kMs);
  ASSERT_EQ(capture->requests.size(), 1U);
  EXPECT_EQ(capture->requests[0].error, ErrorCode::kDeadlineExceeded);
  const auto parts = parts_of(capture->requests[0]);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].name, "reply");
  EXPECT_EQ(parts[0].ended - parts[0].begun, 3 * kMs);
}

TEST_F(Recorder, WhatIsOutsideTheWindowIsNotInTheCapture) {
  const auto recorder = make();
  const auto first = recorder->start_capture(kStart, kStart + 10 * kMs);
  auto early = request(*recorder, kStart + kMs);
  EXPECT_EQ(request(*recorder, kStart + 10 * kMs), nullptr) << "its time was over, though nobody had said so";
  EXPECT_FALSE(recorder->wants_tasks());
  EXPECT_TRUE((*recorder->finish_capture(*first, kStart + 11 * kMs))->requests.empty());
  const auto second = recorder->start_capture(kStart + 20 * kMs, kStart + 30 * kMs);
  ASSERT_TRUE(second);
  early->reach(SpanStage::kReplied, kStart + 21 * kMs);
  early = nullptr;  // it arrived before
  recorder->record(task(kStart + 19 * kMs, 1));
  recorder->record(task(kStart + 25 * kMs, 2));
  recorder->record(task(kStart + 30 * kMs, 3));
  const auto capture = *recorder->finish_capture(*second, kStart + 30 * kMs);
  EXPECT_TRUE(capture->requests.empty());
  ASSERT_EQ(capture->tasks.size(), 1U);
  EXPECT_EQ(capture->tasks[0].seq, 2U);
}

TEST_F(Recorder, HandsSamplesOnWhenTheyEnd) {
  const auto recorder = make_sampling(1.0);
  auto span = request(*recorder, kStart, 5);
  ASSERT_NE(span, nullptr);
  EXPECT_FALSE(span->captured());
  EXPECT_FALSE(recorder->wants_tasks());
  EXPECT_TRUE(span->child_context().sampled);
  EXPECT_TRUE(sampled_.empty());
  span = nullptr;
  ASSERT_EQ(sampled_.size(), 1U);
  EXPECT_EQ(sampled_[0].key, 5U);
}

TEST_F(Recorder, ASampleMayBeInACaptureToo) {
  const auto recorder = make_sampling(1.0);
  const auto number = recorder->start_capture(kStart, kStart + 10 * kMs);
  auto span = request(*recorder, kStart, 5);
  EXPECT_TRUE(span->captured());
  span = nullptr;
  EXPECT_EQ(sampled_.size(), 1U);
  EXPECT_EQ((*recorder->finish_capture(*number, kStart + 10 * kMs))->requests.size(), 1U);
  EXPECT_NE(request(*recorder, kStart + 20 * kMs), nullptr) << "samples are wanted as before";
}

TEST_F(Recorder, FollowsCallersThatRecordAndSoManyOfThem) {
  const auto recorder = make_sampling(0.0);
  EXPECT_EQ(request(*recorder, kStart), nullptr);
  EXPECT_EQ(request(*recorder, kStart, 1, {{1, 2}, 3, false}), nullptr);
  EXPECT_NE(request(*recorder, kStart, 1, {{1, 2}, 3, true}), nullptr);
  EXPECT_EQ(request(*recorder, kStart, 1, {{1, 3}, 3, true}), nullptr) << "one a second";
}

TEST_F(Recorder, WhatARouterSendsItHasChosen) {
  const auto all = make_sampling(1.0), none = make_sampling(0.0);
  EXPECT_EQ(all->begin({}, Door::kCluster, "m", 1, kStart), nullptr);
  EXPECT_EQ(all->begin({{1, 2}, 3, false}, Door::kCluster, "m", 1, kStart), nullptr);
  for (int i = 0; i < 3; ++i)
    EXPECT_NE(none->begin({{1, 2}, 3, true}, Door::kCluster, "m", 1, kStart), nullptr);
}

TEST_F(Recorder, OneCaptureAtATime) {
  const auto recorder = make();
  ASSERT_TRUE(recorder->start_capture(kStart, kStart + 10 * kMs));
  EXPECT_EQ(recorder->start_capture(kStart + kMs, kStart + 20 * kMs).error().code, ErrorCode::kOverloaded);
  // One that nobody fetches gives way, but not at once.
  const TimePoint over = kStart + 10 * kMs;
  EXPECT_EQ(recorder->start_capture(over, over + 10 * kMs).error().code, ErrorCode::kOverloaded);
  EXPECT_TRUE(
      recorder->start_capture(over + TraceRecorder::kUnread, over + TraceRecorder::kUnread + 10 * kMs));
}

TEST_F(Recorder, WhatFindsNoRoomIsLostAndCounted) {
  const auto recorder = make(4 * sizeof(TaskSpan));
  const auto number = recorder->start_capture(kStart, kStart + 10 * kMs);
  for (std::uint64_t seq = 1; seq <= 7; ++seq) recorder->record(task(kStart + kMs, seq));
  const auto capture = *recorder->finish_capture(*number, kStart + 10 * kMs);
  EXPECT_EQ(capture->tasks.size(), 4U);
  EXPECT_EQ(capture->lost, 3U);
  EXPECT_EQ(lost_, 3U);
}

TEST_F(Recorder, WhoBringsNoTraceGetsOneOfItsOwn) {
  const auto recorder = make();
  const auto number = recorder->start_capture(kStart, kStart + 10 * kMs);
  request(*recorder, kStart + kMs, 1);
  request(*recorder, kStart, 2);
  const auto capture = *recorder->finish_capture(*number, kStart + 10 * kMs);
  ASSERT_EQ(capture->requests.size(), 2U);
  EXPECT_EQ(capture->requests[0].key, 2U) << "they stand by arrival";
  EXPECT_TRUE(capture->requests[0].context.trace.valid());
  EXPECT_NE(capture->requests[0].context.trace, capture->requests[1].context.trace);
  EXPECT_NE(capture->requests[0].span, capture->requests[1].span);
  EXPECT_EQ(capture->requests[0].context.parent, 0U);
}

}  // namespace
}  // namespace volvox
