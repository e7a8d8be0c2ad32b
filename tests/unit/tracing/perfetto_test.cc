#include "tracing/perfetto.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using nlohmann::json;

constexpr auto kUs = std::chrono::microseconds(1);
const TimePoint kBegun{std::chrono::seconds(50)};

RequestSpan request(std::uint64_t key, Duration from, Duration to) {
  RequestSpan span;
  span.key = key;
  span.model = "m";
  span.context.trace = {0, key};
  span.reached = {kBegun + from, kBegun + from + kUs, kBegun + from + 2 * kUs, kBegun + to - kUs,
                  kBegun + to};
  return span;
}

TaskSpan task(std::uint64_t seq, Duration from, std::vector<std::uint64_t> joined,
              std::vector<std::uint64_t> left) {
  TaskSpan span;
  span.cell = "m/1/step";
  span.device_name = "cpu";
  span.seq = seq;
  span.rows = 2;
  span.padded_rows = 4;
  span.begun = kBegun + from;
  span.ended = span.begun + 10 * kUs;
  span.joined = std::move(joined);
  span.left = std::move(left);
  return span;
}

json all_events(const TraceCapture& capture) {
  const PerfettoEvents perfetto(std::make_shared<const TraceCapture>(capture), 42, "volvox");
  json events = perfetto.names();
  for (std::size_t i = 0; i < perfetto.size(); ++i) perfetto.append(i, events);
  return events;
}

json those(const json& events, const std::string& phase) {
  json found = json::array();
  for (const json& event : events) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

TEST(Perfetto, ATaskIsASliceOfItsWorker) {
  TraceCapture capture{kBegun, kBegun + 100 * kUs, {}, {task(9, 5 * kUs, {1}, {2})}, 0};
  capture.tasks[0].worker = 1;
  const json slices = those(all_events(capture), "X");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0]["name"], "m/1/step");
  EXPECT_EQ(slices[0]["ts"], 5.0);
  EXPECT_EQ(slices[0]["dur"], 10.0);
  EXPECT_EQ(slices[0]["pid"], 42);
  EXPECT_EQ(slices[0]["args"]["rows"], 2);
  EXPECT_EQ(slices[0]["args"]["padded_rows"], 4);
  EXPECT_EQ(slices[0]["args"]["joined"], json({1}));
  EXPECT_EQ(slices[0]["args"]["left"], json({2}));
  EXPECT_EQ(slices[0]["args"]["clock"], "worker");
  std::string name;
  for (const json& said : those(all_events(capture), "M")) {
    if (said["name"] == "thread_name" && said["tid"] == slices[0]["tid"]) name = said["args"]["name"];
  }
  EXPECT_EQ(name, "cpu queue 1");
}

TEST(Perfetto, ATaskThatRanAlreadyBeginsWithTheTrace) {
  const TraceCapture capture{kBegun, kBegun + 100 * kUs, {}, {task(9, -4 * kUs, {}, {})}, 0};
  const json slices = those(all_events(capture), "X");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 6.0);
}

TEST(Perfetto, ARequestIsATrackWithItsParts) {
  const TraceCapture capture{kBegun, kBegun + 100 * kUs, {request(7, 3 * kUs, 20 * kUs)}, {}, 0};
  const json events = all_events(capture);
  std::vector<std::string> begun, ended;
  for (const json& event : those(events, "b")) begun.push_back(event["name"]);
  for (const json& event : those(events, "e")) ended.push_back(event["name"]);
  EXPECT_EQ(begun, (std::vector<std::string>{"m", "edge", "queue", "compute", "reply"}));
  EXPECT_EQ(ended, (std::vector<std::string>{"edge", "queue", "compute", "reply", "m"}));
  EXPECT_EQ(those(events, "b")[0]["args"]["trace"], "00000000000000000000000000000007");
  EXPECT_EQ(those(events, "b")[0]["args"]["outcome"], "ok");
  EXPECT_TRUE(those(events, "s").empty()) << "no task of it was seen";
}

// From its arrival to the task that it joins first, and on to the one after which it leaves.
TEST(Perfetto, FlowsGoToTheFirstTaskAndTheLast) {
  const TraceCapture capture{
      kBegun,
      kBegun + 100 * kUs,
      {request(1, 0 * kUs, 60 * kUs), request(2, 1 * kUs, 30 * kUs)},
      {task(1, 10 * kUs, {1, 2}, {2}), task(2, 20 * kUs, {}, {}), task(3, 30 * kUs, {99}, {1})},
      0};
  const json events = all_events(capture);
  const auto times = [&](const char* phase, std::uint64_t id) {
    std::vector<double> found;
    for (const json& event : those(events, phase)) {
      if (event["id"] == id) found.push_back(event["ts"]);
    }
    return found;
  };
  EXPECT_EQ(times("s", 1), std::vector<double>{0.0});
  EXPECT_EQ(times("t", 1), std::vector<double>{10.0});
  EXPECT_EQ(times("f", 1), std::vector<double>{30.0});
  EXPECT_EQ(times("s", 2), std::vector<double>{1.0});
  EXPECT_TRUE(times("t", 2).empty());
  EXPECT_EQ(times("f", 2), std::vector<double>{10.0});
  EXPECT_TRUE(times("f", 99).empty()) << "it is not in the capture";
}

TEST(Perfetto, ArrivalsOnOneThreadDoNotOverlap) {
  const TraceCapture capture{
      kBegun,
      kBegun + 100 * kUs,
      {request(1, 5 * kUs, 60 * kUs), request(2, std::chrono::nanoseconds(5300), 30 * kUs)},
      {},
      0};
  const json slices = those(all_events(capture), "X");
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0]["dur"], 0.3);
  EXPECT_EQ(slices[1]["dur"], 1.0);
}

}  // namespace
}  // namespace volvox
