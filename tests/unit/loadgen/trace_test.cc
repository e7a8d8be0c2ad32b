#include "loadgen/requests/trace.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "loadgen/plan/plan.h"
#include "loadgen/requests/request_mix.h"
#include "loadgen/run/connection.h"
#include "tests/unit/loadgen/fake_link.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;

class TraceFile : public testing::Test {
 protected:
  ~TraceFile() override { std::filesystem::remove(path_); }
  Result<Trace> read(const std::string& text, double speed = 1) {
    std::ofstream(path_) << text;
    return read_trace(path_, models_, speed);
  }
  std::string refusal(const std::string& text, double speed = 1) {
    const auto trace = read(text, speed);
    return trace ? "" : trace.error().message;
  }

  const std::string path_ =
      std::filesystem::temp_directory_path() / ("trace_test." + std::to_string(::getpid()));
  const std::vector<std::string> models_{"a", "b"};
};

TEST_F(TraceFile, IsReadAtItsSpeed) {
  const auto trace = read("at_s,model,size\n0,a,5\n0.25,b,0\r\n1e0,a,7\n", 2);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(*trace, (Trace{{milliseconds(0), 0, 5}, {milliseconds(125), 1, 0}, {milliseconds(500), 0, 7}}));
}

TEST_F(TraceFile, WhatIsWrongIsSaidWithItsLine) {
  const std::string head = "at_s,model,size\n";
  EXPECT_NE(refusal("0,a,5\n").find(":1:"), std::string::npos);
  EXPECT_NE(refusal(head + "0,a,5\n1,c,5\n").find(":3:"), std::string::npos);
  EXPECT_NE(refusal(head + "0,a\n").find(":2:"), std::string::npos);
  EXPECT_NE(refusal(head + "0,a,-1\n").find(":2:"), std::string::npos);
  EXPECT_NE(refusal(head + "x,a,1\n").find(":2:"), std::string::npos);
  EXPECT_NE(refusal(head + "nan,a,1\n").find(":2:"), std::string::npos);
  EXPECT_NE(refusal(head + "-1,a,1\n").find(":2:"), std::string::npos);
  EXPECT_NE(refusal(head + "1e300,a,1\n").find(":2:"), std::string::npos);
  EXPECT_NE(refusal(head + "2,a,1\n1,a,1\n").find("goes back"), std::string::npos);
  EXPECT_NE(refusal(head), "") << "empty";
  EXPECT_NE(refusal(head + "0,a,9999999\n"), "");
  EXPECT_NE(refusal(head + "0,a,5\n", 0), "");
  EXPECT_FALSE(read_trace(path_ + ".not", models_, 1).has_value());
}

RequestMix traced(Trace trace) {
  return RequestMix(1,
                    {{{.model = "a"}, {1, LengthSource::built_in(), 9}},
                     {{.model = "b"}, {1, TreeSource::random(LengthSource::built_in()), 9}}},
                    std::make_shared<const Trace>(std::move(trace)));
}

TEST(TracedMix, RequestsAreOfTheClassAndSizeThatItSays) {
  const RequestMix mix = traced({{milliseconds(1), 0, 5}, {milliseconds(2), 1, 4}, {milliseconds(3), 0, 0}});
  RequestContent content;
  mix.make(0, content);
  EXPECT_EQ(content.of_class, 0U);
  EXPECT_EQ(content.tokens.size(), 5U);
  mix.make(1, content);
  EXPECT_EQ(content.of_class, 1U);
  EXPECT_EQ(content.parents.size(), 7U) << "a binary tree of four leaves";
  mix.make(2, content);
  EXPECT_EQ(content.of_class, 0U);
  EXPECT_TRUE(check_mix(mix).has_value());
  EXPECT_FALSE(check_mix(traced({{milliseconds(1), 2, 5}})).has_value());
  EXPECT_FALSE(check_mix(traced({})).has_value());
}

TEST(TracedMix, SizesOfEveryShape) {
  const LengthSource lengths = LengthSource::built_in();
  RequestContent content;
  RequestSource(1, LatticeSource::random(lengths), 9).make(0, content, 6);
  EXPECT_EQ(content.tokens.size(), 6U);
  content = {};
  const std::vector<GraphCellType> types{{"leaf", true, false, false}, {"inner", false, true, false}};
  RequestSource(1, *GraphSource::make(TreeSource::random(lengths), types), 9).make(0, content, 6);
  EXPECT_EQ(content.types.size(), 11U);
  content = {};
  RequestSource(1, SequencesSource{lengths, {"s", "t"}, {0, 1}}, 9).make(0, content, 6);
  EXPECT_EQ(content.lengths, (std::vector<std::int32_t>{6, 6}));
}

// Over several connections, each entry is replayed once, at its time, and the load ends with the trace.
TEST(TracedMix, IsReplayedOnceAtItsTimes) {
  Trace trace;
  for (int i = 0; i < 101; ++i) trace.push_back({milliseconds(i * i), static_cast<std::uint32_t>(i % 2), 3});
  const RequestMix mix = traced(trace);
  LoadPlan plan;
  plan.arrivals = Arrivals::kTrace;
  plan.rate = 1;
  plan.connections = 3;
  ASSERT_TRUE(check_plan(plan).has_value());
  std::map<std::uint64_t, Duration> sent;
  for (const ConnectionPlan& part : divide(plan)) {
    FakeLink link(FakeLink::steady(milliseconds(1)));
    LoadProgress progress;
    LoadConnection connection(part, mix, link, progress);
    const TimePoint start = link.now();
    connection.run(start, {});
    for (const auto& [at, id] : link.sent) EXPECT_TRUE(sent.emplace(id - 1, at - start).second) << id;
  }
  ASSERT_EQ(sent.size(), trace.size());
  for (const auto& [index, at] : sent) {
    EXPECT_GE(at, trace[index].at);
    EXPECT_LT(at, trace[index].at + std::chrono::microseconds(10));
  }
}

}  // namespace
}  // namespace volvox
