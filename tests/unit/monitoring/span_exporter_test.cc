#include "monitoring/spans/span_exporter.h"

#include <future>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <prometheus/registry.h>

namespace volvox {
namespace {

using nlohmann::json;

constexpr auto kMs = std::chrono::milliseconds(1);
constexpr auto kPatience = std::chrono::seconds(60);

// What a collector would have got, and what it answers: in turn, the last one for ever.
class FakeCollector {
 public:
  explicit FakeCollector(std::vector<SendResult> answers) : answers_(std::move(answers)) {}

  SendResult send(const std::string& body, const std::atomic<bool>&) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
    const json spans = json::parse(body)["resourceSpans"][0]["scopeSpans"][0]["spans"];
    sizes_.push_back(spans.size());
    changed_.notify_all();
    return answers_[std::min(sizes_.size(), answers_.size()) - 1];
  }
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  // Spans of each message, once there are so many.
  std::vector<std::size_t> messages(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return sizes_.size() >= count; }));
    return sizes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<SendResult> answers_;
  std::vector<std::size_t> sizes_;
  bool open_ = true;
};

class Exporter : public ::testing::Test {
 protected:
  void start(std::vector<SendResult> answers, ExporterOptions options) {
    collector_ = std::make_unique<FakeCollector>(std::move(answers));
    exporter_ = std::make_unique<SpanExporter>(
        std::move(options), metrics_, [this](const std::string& body, const std::atomic<bool>& hurry) {
          return collector_->send(body, hurry);
        });
  }
  static ExporterOptions options() {
    ExporterOptions options;
    options.source = {"a", "1", 1};
    options.interval = 1 * kMs;
    options.first_pause = 1 * kMs;
    return options;
  }
  void put(int requests) {
    for (int i = 0; i < requests; ++i) exporter_->put(RequestSpan{});
  }
  double value(const std::string& outcome) const {
    for (const auto& family : registry_.Collect()) {
      for (const auto& metric : family.metric) {
        for (const auto& label : metric.label) {
          if (family.name == "volvox_trace_spans_total" && label.value == outcome)
            return metric.counter.value;
        }
      }
    }
    return -1;
  }

  prometheus::Registry registry_;
  TraceMetrics metrics_{registry_};
  std::unique_ptr<FakeCollector> collector_;
  std::unique_ptr<SpanExporter> exporter_;
};

SendResult later(Duration wait = {}) {
  return {SendResult::Kind::kTryAgain, 0, wait, "nobody is there"};
}

TEST_F(Exporter, SendsWhatWaitsInBatches) {
  ExporterOptions few = options();
  few.batch = 3;
  start({{}}, few);
  collector_->set_open(false);
  put(7);
  collector_->set_open(true);
  exporter_ = nullptr;
  std::size_t sum = 0;
  for (const std::size_t size : collector_->messages(3)) {
    EXPECT_LE(size, 3U);
    sum += size;
  }
  EXPECT_EQ(sum, 7U);
  EXPECT_EQ(value("sent"), 7);
}

TEST_F(Exporter, AFullBatchDoesNotWait) {
  ExporterOptions patient = options();
  patient.batch = 2;
  patient.interval = std::chrono::hours(1);
  start({{}}, patient);
  put(2);
  EXPECT_EQ(collector_->messages(1), std::vector<std::size_t>{2});
}

TEST_F(Exporter, WhatFindsNoRoomIsLostAndCounted) {
  ExporterOptions small = options();
  small.queue = 4;
  small.batch = 1;
  start({{}}, small);
  collector_->set_open(false);
  put(20);  // one may be on its way
  EXPECT_GE(value("no_room"), 15);
  EXPECT_LE(value("no_room"), 16);
  collector_->set_open(true);
  exporter_ = nullptr;
  EXPECT_EQ(value("sent") + value("no_room"), 20);
}

TEST_F(Exporter, TriesAgainUntilItIsTaken) {
  start({later(), later(2 * kMs), {}}, options());
  put(1);
  collector_->messages(3);
  exporter_ = nullptr;
  EXPECT_EQ(value("sent"), 1);
  EXPECT_EQ(value("unreachable"), 0);
}

TEST_F(Exporter, GivesUpAfterAllAttempts) {
  ExporterOptions twice = options();
  twice.attempts = 2;
  start({later(), later(), {}}, twice);
  put(1);
  collector_->messages(2);
  put(1);
  collector_->messages(3);
  exporter_ = nullptr;
  EXPECT_EQ(value("unreachable"), 1);
  EXPECT_EQ(value("sent"), 1);
}

TEST_F(Exporter, WhatIsRefusedIsNotTriedAgain) {
  start(
      {{SendResult::Kind::kRefused, 0, {}, "HTTP 400"}, {SendResult::Kind::kTaken, 1, {}, "one is too old"}},
      options());
  put(1);
  collector_->messages(1);
  put(1);
  EXPECT_EQ(collector_->messages(2).size(), 2U);
  exporter_ = nullptr;
  EXPECT_EQ(value("refused"), 2);
  EXPECT_EQ(value("sent"), 0);
}

TEST_F(Exporter, TheEndWaitsForNobody) {
  ExporterOptions patient = options();
  patient.batch = 1;
  patient.first_pause = std::chrono::hours(1);
  start({later()}, patient);
  put(5);
  collector_->messages(1);
  auto ended = std::async(std::launch::async, [this] { exporter_ = nullptr; });
  EXPECT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(value("unreachable"), 5);
  EXPECT_EQ(collector_->messages(1).size(), 1U) << "who did not answer once is not asked again";
}

}  // namespace
}  // namespace volvox
