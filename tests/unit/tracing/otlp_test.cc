#include "tracing/otlp.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace volvox {
namespace {

using nlohmann::json;

constexpr auto kMicrosecond = std::chrono::microseconds(1);
const TimePoint kArrival{std::chrono::seconds(100)};
const WallClock kClock(kArrival, std::chrono::seconds(1'700'000'000));

RequestSpan request() {
  RequestSpan span;
  span.key = 5;
  span.context = {{0x0123456789abcdef, 2}, 3, true};
  span.span = 0xab;
  span.door = Door::kHttp;
  span.model = "lstm";
  span.version = 4;
  span.cells = 7;
  span.reached = {kArrival, kArrival + 1 * kMicrosecond, kArrival + 3 * kMicrosecond,
                  kArrival + 7 * kMicrosecond, kArrival + 8 * kMicrosecond};
  return span;
}

json spans_of(std::vector<RequestSpan> requests) {
  const json document = json::parse(otlp_request({"a", "1.2", 77}, requests, kClock));
  return document["resourceSpans"][0]["scopeSpans"][0]["spans"];
}

std::string attribute(const json& attributes, const std::string& key) {
  for (const json& one : attributes) {
    if (one["key"] == key) return one["value"].begin()->get<std::string>();
  }
  return "";
}

TEST(Otlp, SaysWhoseTheSpansAre) {
  const std::vector<RequestSpan> requests{request()};
  const json document = json::parse(otlp_request({"a", "1.2", 77}, requests, kClock));
  ASSERT_EQ(document.size(), 1U);
  ASSERT_EQ(document["resourceSpans"].size(), 1U);
  const json& attributes = document["resourceSpans"][0]["resource"]["attributes"];
  EXPECT_EQ(attribute(attributes, "service.name"), "volvox");
  EXPECT_EQ(attribute(attributes, "service.instance.id"), "a");
  EXPECT_EQ(attribute(attributes, "service.version"), "1.2");
  EXPECT_EQ(attribute(attributes, "process.pid"), "77");
  EXPECT_EQ(document["resourceSpans"][0]["scopeSpans"][0]["scope"],
            (json{{"name", "volvox"}, {"version", "1.2"}}));
}

TEST(Otlp, ARequestIsASpanWithItsPartsAsChildren) {
  const json spans = spans_of({request()});
  ASSERT_EQ(spans.size(), otlp_spans(request()));
  ASSERT_EQ(spans.size(), 5U);
  const json& whole = spans[0];
  EXPECT_EQ(whole["traceId"], "0123456789abcdef0000000000000002");
  EXPECT_EQ(whole["spanId"], "00000000000000ab");
  EXPECT_EQ(whole["parentSpanId"], "0000000000000003");
  EXPECT_EQ(whole["kind"], 2);
  EXPECT_EQ(whole["flags"], 0x301);
  EXPECT_EQ(whole["name"], "lstm");
  EXPECT_EQ(whole["startTimeUnixNano"], "1700000000000000000");
  EXPECT_EQ(whole["endTimeUnixNano"], "1700000000000008000");
  EXPECT_FALSE(whole.contains("status")) << "it is unset";
  EXPECT_EQ(attribute(whole["attributes"], "volvox.door"), "http");
  EXPECT_EQ(attribute(whole["attributes"], "volvox.cells"), "7");
  EXPECT_EQ(attribute(whole["attributes"], "volvox.outcome"), "ok");
  EXPECT_EQ(attribute(whole["attributes"], "volvox.node"), "");
  std::set<std::string> ids{whole["spanId"]};
  std::vector<std::string> names;
  std::string begun = whole["startTimeUnixNano"];
  for (std::size_t i = 1; i < spans.size(); ++i) {
    names.push_back(spans[i]["name"]);
    ids.insert(spans[i]["spanId"]);
    EXPECT_EQ(spans[i]["parentSpanId"], whole["spanId"]);
    EXPECT_EQ(spans[i]["traceId"], whole["traceId"]);
    EXPECT_EQ(spans[i]["kind"], 1);
    EXPECT_EQ(spans[i]["startTimeUnixNano"], begun);
    begun = spans[i]["endTimeUnixNano"];
  }
  EXPECT_EQ(begun, whole["endTimeUnixNano"]);
  EXPECT_EQ(names, (std::vector<std::string>{"edge", "queue", "compute", "reply"}));
  EXPECT_EQ(ids.size(), 5U);
}

TEST(Otlp, WhoHasNoParentNamesNone) {
  RequestSpan root = request();
  root.context.parent = 0;
  const json spans = spans_of({root});
  EXPECT_FALSE(spans[0].contains("parentSpanId"));
  EXPECT_EQ(spans[0]["flags"], 0x101);
}

TEST(Otlp, AFailureIsAnError) {
  RequestSpan failed = request();
  failed.reached = {kArrival};
  failed.error = ErrorCode::kOverloaded;
  const json spans = spans_of({failed});
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0]["status"], (json{{"code", 2}, {"message", "OVERLOADED"}}));
  EXPECT_EQ(spans[0]["endTimeUnixNano"], spans[0]["startTimeUnixNano"]);
}

TEST(Otlp, ARouterSaysWhoRanIt) {
  RequestSpan routed = request();
  routed.attempts = 2;
  routed.node = "worker-1";
  const json spans = spans_of({routed});
  EXPECT_EQ(attribute(spans[0]["attributes"], "volvox.node"), "worker-1");
  EXPECT_EQ(attribute(spans[0]["attributes"], "volvox.attempts"), "2");
  EXPECT_EQ(spans[1]["name"], "placement");
}

TEST(Otlp, NamesThatAreNoTextDoNoHarm) {
  RequestSpan strange = request();
  strange.model = "\xff\"\n";
  EXPECT_EQ(spans_of({strange})[0]["name"], "\uFFFD\"\n");
}

}  // namespace
}  // namespace volvox
