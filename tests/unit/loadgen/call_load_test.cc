#include "loadgen/calls/call_load.h"

#include <cstring>
#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadgen/calls/call_report.h"

namespace volvox {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::HasSubstr;

// What a server does with a frame: an error, or nothing at all (silence), after a while.
struct Fate {
  Duration after = milliseconds(5);
  std::optional<ErrorCode> error{};
  bool refused = false;  // send() says so
  bool dropped = false;  // no answer, ever
};

// A server and a clock in one: time passes only while somebody waits. Answers a frame with the sum of its
// samples, and sees to it that sessions are as they should be.
class FakeCallLink : public CallLink {
 public:
  using Server = std::function<Fate(const CallFrame& frame, Duration at)>;
  struct Book {
    std::uint64_t begun = 0, ended = 0, flushes = 0;
    std::vector<Duration> sent;       // when each frame was
    std::vector<std::string> wrongs;  // what a client must not do
    std::uint64_t sendings = 0;
  };

  FakeCallLink(std::uint32_t slots, Server server, Book& book)
      : calls_(slots), server_(std::move(server)), book_(book) {}

  TimePoint now() override { return now_; }

  Status send(const CallFrame& frame) override {
    check(frame);
    const Fate fate = server_(frame, now_ - TimePoint{});
    if (fate.refused) return fail(*fate.error, "the test refuses");
    book_.sent.push_back(now_ - TimePoint{});
    ++book_.sendings;
    if (fate.dropped) return {};
    float sum = 0;
    for (const float sample : frame.samples) sum += sample;
    coming_.emplace(now_ + fate.after,
                    Coming{frame.call, frame.ticket, frame.number, frame.last, sum, fate.error});
    return {};
  }

  Status flush() override {
    ++book_.flushes;
    return {};
  }

  void receive(Duration at_most, const Handler& handler) override {
    const TimePoint until = now_ + std::max(at_most, Duration{0});
    if (coming_.empty() || coming_.begin()->first > until) {
      now_ = until;
      return;
    }
    now_ = std::max(now_, coming_.begin()->first);
    while (!coming_.empty() && coming_.begin()->first <= now_) {
      const Coming answer = coming_.begin()->second;
      coming_.erase(coming_.begin());
      deliver(answer, handler);
    }
  }

  CallLinkCounts counts() const override { return {}; }

 private:
  struct Coming {
    std::uint32_t call = 0;
    std::uint64_t ticket = 0, number = 0;
    bool last = false;
    float sum = 0;
    std::optional<ErrorCode> error;
  };
  struct Call {
    bool begun = false, over = true;
    std::uint64_t first_ticket = 0, reached = 0;
  };

  void wrong(const CallFrame& frame, const std::string& what) {
    book_.wrongs.push_back("call " + std::to_string(frame.call) + ", frame " + std::to_string(frame.number) +
                           ": " + what);
  }

  void check(const CallFrame& frame) {
    Call& call = calls_[frame.call];
    if (CallFrame::slot_of(frame.ticket) != frame.call) wrong(frame, "its ticket is of another slot");
    if (frame.number == 0 && !frame.repeated) {
      call = {.begun = false, .over = false, .first_ticket = frame.ticket, .reached = 0};
      ++book_.begun;
    }
    if (call.over) wrong(frame, "the call is over");
    if (frame.number > 0 && !call.begun) wrong(frame, "the call has not begun");
    if (frame.number > call.reached) wrong(frame, "one before it was never sent");
    call.reached = std::max(call.reached, frame.number + 1);
    if (frame.samples.empty() && !frame.last) wrong(frame, "it is empty");
    if (frame.number == 0 && frame.last) wrong(frame, "what begins a session cannot end it");
  }

  void deliver(const Coming& answer, const Handler& handler) {
    Call& call = calls_[answer.call];
    Error error{answer.error.value_or(ErrorCode::kInternal), "because of the test"};
    CallAnswer to{.ticket = answer.ticket, .error = answer.error ? &error : nullptr};
    const WireTensor output = wire_tensor("sum", std::span<const float>(&answer.sum, 1), {1, 1});
    if (!answer.error) {
      if (answer.ticket >= call.first_ticket) call.begun = true;
      if (answer.ticket >= call.first_ticket && answer.last) {
        call.over = true;
        ++book_.ended;
      }
      to.outputs = {&output, 1};
    }
    handler(to);
  }

  TimePoint now_{};
  std::vector<Call> calls_;
  std::multimap<TimePoint, Coming> coming_;
  Server server_;
  Book& book_;
};

CallAudio call_audio() {
  Sound sound{.rate = 16000, .samples = {}};
  for (int i = 0; i < 40000; ++i) sound.samples.push_back(static_cast<float>(i % 251));
  return CallAudio::make({sound}, 576, 512).value();
}

CallOutcome run_calls(const CallPlan& plan, FakeCallLink::Server server, FakeCallLink::Book& book) {
  const CallAudio sounds = call_audio();
  const auto open = [&](std::uint32_t slots) -> Result<std::unique_ptr<CallLink>> {
    return std::unique_ptr<CallLink>(new FakeCallLink(slots, server, book));
  };
  auto outcome = run_call_load(plan, sounds, open, {});
  EXPECT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(book.wrongs, ::testing::IsEmpty());
  return outcome ? std::move(*outcome) : CallOutcome{};
}

FakeCallLink::Server answers_after(Duration after) {
  return [after](const CallFrame&, Duration) { return Fate{.after = after}; };
}

TEST(CallLoad, EveryFrameIsSentWhenItIsDueAndAnswered) {
  FakeCallLink::Book book;
  const CallOutcome outcome =
      run_calls({.calls = 40, .leaves = 0.1, .measured = seconds(10)}, answers_after(milliseconds(5)), book);
  const CallTally& tally = outcome.tally;
  EXPECT_NEAR(static_cast<double>(tally.frames()), 40 * 10 / 0.032, 60);
  EXPECT_EQ(tally.answered(), tally.frames());
  EXPECT_EQ(tally.sent(), tally.frames());
  EXPECT_EQ(tally.late(), 0U);
  EXPECT_EQ(tally.behind().max(), Duration{0});
  EXPECT_EQ(tally.latency().max(), milliseconds(5));
  EXPECT_EQ(outcome.live, 40U);
  EXPECT_EQ(outcome.joins, outcome.leaves);
  EXPECT_GT(outcome.joins, 20U);
  EXPECT_EQ(outcome.dropped, 0U);
  EXPECT_EQ(book.begun, book.ended) << "each call was ended";
  EXPECT_NEAR(outcome.seconds, 10, 0.06);
}

TEST(CallLoad, CallsOfOneFrameAreEnded) {
  FakeCallLink::Book book;
  // So many come and go that some leave before they have said anything.
  const CallOutcome outcome =
      run_calls({.calls = 100, .leaves = 5, .measured = seconds(4)}, answers_after(milliseconds(2)), book);
  EXPECT_EQ(outcome.tally.lost(), 0U);
  EXPECT_GT(book.begun, 1500U);
  EXPECT_EQ(book.begun, book.ended);
}

// A server that answers after 100 ms is three frames behind all the time, and the load does not wait for it.
TEST(CallLoad, ASlowServerDoesNotSlowTheLoadDown) {
  FakeCallLink::Book book;
  const CallOutcome outcome =
      run_calls({.calls = 10, .leaves = 0, .measured = seconds(5)}, answers_after(milliseconds(100)), book);
  EXPECT_NEAR(static_cast<double>(outcome.tally.frames()), 10 * 5 / 0.032, 20);
  EXPECT_EQ(outcome.tally.lost(), 0U);
  EXPECT_EQ(outcome.tally.late(), outcome.tally.frames());
  EXPECT_DOUBLE_EQ(outcome.tally.late_fraction(), 1);
  EXPECT_NEAR(static_cast<double>(outcome.tally.latency().percentile(0.5).count()), 100e6, 1e6);
  EXPECT_LE(outcome.tally.latency().max(), milliseconds(168))
      << "the second frame waits for the first answer";
}

TEST(CallLoad, AnswersMayComeInAnotherOrder) {
  FakeCallLink::Book book;
  const auto server = [](const CallFrame& frame, Duration) {
    return Fate{.after = milliseconds(frame.last ? 20 : 100)};
  };
  const CallOutcome outcome = run_calls({.calls = 20, .leaves = 0.5, .measured = seconds(5)}, server, book);
  EXPECT_EQ(outcome.tally.lost(), 0U);
  EXPECT_GT(outcome.leaves, 20U);
  EXPECT_EQ(book.begun, book.ended);
}

TEST(CallLoad, LateCountsFromWhenAFrameWasDue) {
  FakeCallLink::Book book;
  // The tenth sending and all after it for 200 ms are refused, as by a connection that broke.
  const auto server = [](const CallFrame&, Duration at) {
    const bool broken = at >= seconds(2) && at < seconds(2) + milliseconds(200);
    return broken ? Fate{.error = ErrorCode::kUnavailable, .refused = true} : Fate{.after = milliseconds(1)};
  };
  const CallOutcome outcome = run_calls({.calls = 5, .leaves = 0, .measured = seconds(4)}, server, book);
  EXPECT_EQ(outcome.tally.lost(), 0U) << "all of it was sent afterwards";
  EXPECT_GT(outcome.tally.errors().at(ErrorCode::kUnavailable).count, 5U);
  EXPECT_GE(outcome.tally.latency().max(), milliseconds(180));
  EXPECT_GE(outcome.tally.late(), 20U);
}

TEST(CallLoad, WhatFailedIsSentAgainUnchanged) {
  FakeCallLink::Book book;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<float>> refused;
  std::uint64_t repeated = 0, different = 0;
  const auto server = [&](const CallFrame& frame, Duration at) {
    const std::pair key(frame.call, frame.number);
    const std::vector<float> samples(frame.samples.begin(), frame.samples.end());
    if (frame.repeated && refused.contains(key)) {
      ++repeated;
      different += refused[key] == samples ? 0 : 1;
      refused.erase(key);
      return Fate{};
    }
    if (at > seconds(2) && frame.number % 7 == 3) {
      refused[key] = samples;
      return Fate{.error = ErrorCode::kOverloaded};
    }
    return Fate{};
  };
  const CallOutcome outcome = run_calls({.calls = 5, .leaves = 0, .measured = seconds(5)}, server, book);
  EXPECT_GT(repeated, 50U);
  EXPECT_EQ(different, 0U);
  EXPECT_EQ(outcome.tally.lost(), 0U);
  EXPECT_EQ(outcome.tally.repeats(), outcome.tally.sent() - outcome.tally.frames());
  EXPECT_GT(outcome.tally.errors().at(ErrorCode::kOverloaded).count, 50U);
}

TEST(CallLoad, ACallThatIsFarBehindIsGivenUpAndEnded) {
  FakeCallLink::Book book;
  // Frame 20 of each call never succeeds.
  const auto server = [](const CallFrame& frame, Duration) {
    if (frame.number == 20 && !frame.samples.empty()) return Fate{.error = ErrorCode::kOverloaded};
    return Fate{.after = milliseconds(2)};
  };
  const CallOutcome outcome =
      run_calls({.calls = 4, .leaves = 0, .measured = seconds(10), .behind = 10}, server, book);
  EXPECT_GT(outcome.dropped, 4U);
  EXPECT_EQ(outcome.live, 4U) << "others have joined";
  EXPECT_GT(outcome.tally.lost(), outcome.dropped * 3);
  EXPECT_EQ(book.begun, book.ended) << "the server was told";
}

TEST(CallLoad, ASilentServerLosesEverythingAndEndsInTime) {
  FakeCallLink::Book book;
  const auto server = [](const CallFrame& frame, Duration at) {
    return Fate{.after = milliseconds(2), .dropped = at > seconds(2) && frame.number > 0};
  };
  const CallOutcome outcome =
      run_calls({.calls = 3, .leaves = 0, .measured = seconds(3), .timeout = seconds(2)}, server, book);
  EXPECT_GT(outcome.tally.lost(), 3 * 2 / 0.032 * 0.9);
  EXPECT_EQ(outcome.tally.answered() + outcome.tally.lost(), outcome.tally.frames());
}

TEST(CallLoad, ACallThatTheServerEndedIsReplaced) {
  FakeCallLink::Book book;
  const auto server = [](const CallFrame& frame, Duration) {
    return frame.number == 30 ? Fate{.error = ErrorCode::kSessionLost} : Fate{};
  };
  const CallOutcome outcome = run_calls({.calls = 6, .leaves = 0, .measured = seconds(5)}, server, book);
  EXPECT_GT(outcome.ended, 6U);
  EXPECT_EQ(outcome.live, 6U);
  EXPECT_GE(outcome.tally.errors().at(ErrorCode::kSessionLost).count, outcome.ended);
}

TEST(CallLoad, FramesGoOutTogetherAtTicks) {
  FakeCallLink::Book book;
  const CallOutcome outcome =
      run_calls({.calls = 50, .leaves = 0.1, .tick = milliseconds(4), .measured = seconds(3)},
                answers_after(milliseconds(1)), book);
  EXPECT_EQ(outcome.tally.lost(), 0U);
  EXPECT_LE(outcome.tally.behind().max(), milliseconds(4));
  EXPECT_GT(outcome.tally.behind().max(), milliseconds(3));
  EXPECT_GT(outcome.tally.latency().max(), milliseconds(3)) << "the wait for the tick counts";
}

TEST(CallLoad, ConnectionsShareTheCalls) {
  FakeCallLink::Book book;  // of all of them: they run one after the other's clock, and each writes its own
  std::vector<std::unique_ptr<FakeCallLink::Book>> books;
  const CallAudio sounds = call_audio();
  std::uint32_t slots_in_all = 0;
  const auto open = [&](std::uint32_t slots) -> Result<std::unique_ptr<CallLink>> {
    slots_in_all += slots;
    books.push_back(std::make_unique<FakeCallLink::Book>());
    return std::unique_ptr<CallLink>(new FakeCallLink(slots, answers_after(milliseconds(3)), *books.back()));
  };
  const auto outcome =
      run_call_load({.calls = 10, .connections = 3, .leaves = 0, .measured = seconds(2)}, sounds, open, {});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(books.size(), 3U);
  EXPECT_EQ(slots_in_all, 20U);
  EXPECT_EQ(outcome->live, 10U);
  EXPECT_EQ(outcome->tally.lost(), 0U);
  for (const auto& one : books) EXPECT_THAT(one->wrongs, ::testing::IsEmpty());
}

TEST(CallLoad, StopsEarlyWithWhatItHas) {
  FakeCallLink::Book book;
  std::stop_source stop;
  const CallAudio sounds = call_audio();
  const auto server = [&](const CallFrame&, Duration at) {
    if (at > seconds(3)) stop.request_stop();
    return Fate{};
  };
  const auto open = [&](std::uint32_t slots) -> Result<std::unique_ptr<CallLink>> {
    return std::unique_ptr<CallLink>(new FakeCallLink(slots, server, book));
  };
  const auto outcome = run_call_load({.calls = 4, .measured = seconds(100)}, sounds, open, stop.get_token());
  ASSERT_TRUE(outcome);
  EXPECT_NEAR(outcome->seconds, 2, 0.1);
  EXPECT_EQ(outcome->tally.lost(), 0U);
  EXPECT_EQ(book.begun, book.ended);
}

TEST(CallLoad, PlansThatMakeNoSenseAreRefused) {
  const auto refusal = [](const CallPlan& plan) {
    const auto open = [](std::uint32_t) -> Result<std::unique_ptr<CallLink>> {
      return invalid("must not be opened");
    };
    return run_call_load(plan, call_audio(), open, {}).error().message;
  };
  EXPECT_THAT(refusal({.calls = 0}), HasSubstr("calls"));
  EXPECT_THAT(refusal({.calls = 2, .connections = 3}), HasSubstr("connections"));
  EXPECT_THAT(refusal({.jitter = milliseconds(33)}), HasSubstr("jitter"));
  EXPECT_THAT(refusal({.leaves = -1}), HasSubstr("churn"));
  EXPECT_THAT(refusal({.behind = 65}), HasSubstr("behind"));
}

// ---- Verification and report ----

std::vector<std::vector<std::byte>> sums_of(std::span<const float> rows, std::uint32_t frames) {
  std::vector<std::byte> bytes;
  for (std::uint32_t frame = 0; frame < frames; ++frame) {
    float sum = 0;
    for (const float sample : rows.subspan(frame * std::size_t{576}, 576)) sum += sample;
    const auto one = std::as_bytes(std::span(&sum, 1));
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return {bytes};
}

CallSummary recorded_calls() {
  FakeCallLink::Book book;
  CallSummary summary;
  summary.plan = {
      .calls = 6, .leaves = 0, .measured = seconds(2), .recorded_calls = 3, .recorded_frames = 40};
  summary.outcome = run_calls(summary.plan, answers_after(milliseconds(4)), book);
  return summary;
}

TEST(CallReport, RightAnswersAreRight) {
  CallSummary summary = recorded_calls();
  ASSERT_EQ(summary.outcome.records.size(), 3U);
  ASSERT_TRUE(verify_calls(call_audio(), sums_of, summary));
  EXPECT_EQ(summary.verified, 120U);
  EXPECT_EQ(summary.wrong, 0U);
  EXPECT_TRUE(is_good(summary));
}

TEST(CallReport, OneBitIsWrong) {
  CallSummary summary = recorded_calls();
  summary.outcome.records[1].outputs[0][4 * 17] ^= std::byte{1};
  ASSERT_TRUE(verify_calls(call_audio(), sums_of, summary));
  EXPECT_EQ(summary.wrong, 1U);
  EXPECT_FALSE(is_good(summary));
  EXPECT_THAT(to_text(summary), HasSubstr("recorded call 1"));
}

TEST(CallReport, AnOutputOfTheLastStepIsComparedThere) {
  const auto last = [](std::span<const float> rows, std::uint32_t frames) {
    auto sums = sums_of(rows, frames);
    sums[0].erase(sums[0].begin(), sums[0].end() - 4);
    return sums;
  };
  CallSummary summary = recorded_calls();
  ASSERT_TRUE(verify_calls(call_audio(), last, summary));
  EXPECT_EQ(summary.wrong, 0U);
  summary.outcome.records[0].outputs[0].back() ^= std::byte{1};
  ASSERT_TRUE(verify_calls(call_audio(), last, summary));
  EXPECT_EQ(summary.wrong, 1U);
}

TEST(CallReport, OutputsThatAreMissingAreWrong) {
  CallSummary summary = recorded_calls();
  summary.outcome.records[2].outputs.clear();
  ASSERT_TRUE(verify_calls(call_audio(), sums_of, summary));
  EXPECT_EQ(summary.wrong, 40U);
}

TEST(CallReport, SaysWhatIsKnown) {
  const CallSummary summary = recorded_calls();
  const auto json = nlohmann::json::parse(to_json_text(summary));
  EXPECT_EQ(json["calls"], 6);
  EXPECT_EQ(json["live"], 6);
  EXPECT_EQ(json["frames"], json["answered"]);
  EXPECT_EQ(json["lost"], 0);
  EXPECT_EQ(json["late_fraction"], 0);
  EXPECT_NEAR(json["latency_ms"]["p999"].get<double>(), 4, 0.01);
  EXPECT_EQ(json["behind_ms"]["max"], 0);
  for (const char* key : {"joins", "leaves", "dropped", "ended", "sent", "repeats", "late", "errors",
                          "verified", "wrong", "duplicates", "late_answers", "resent", "seconds", "cpu"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_THAT(to_text(summary), HasSubstr("p99.9 4.00"));
}

TEST(CallReport, WhatWasLostOrDoubledIsNotGood) {
  CallSummary summary = recorded_calls();
  EXPECT_TRUE(is_good(summary));
  summary.outcome.link.duplicates = 1;
  EXPECT_FALSE(is_good(summary));
  summary.outcome.link.duplicates = 0;
  summary.outcome.tally.due();
  EXPECT_FALSE(is_good(summary)) << "a frame without an answer";
  EXPECT_FALSE(is_good(CallSummary{})) << "nothing was done";
}

}  // namespace
}  // namespace volvox
