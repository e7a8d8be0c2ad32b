#include "tracing/otlp.h"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace volvox {
namespace {

using nlohmann::json;

// opentelemetry/proto/trace/v1/trace.proto
constexpr int kInternal = 1, kServer = 2;          // SpanKind
constexpr int kStatusUnset = 0, kStatusError = 2;  // Status.code
// SpanFlags: sampled; known to have its parent in this process, or in another one.
constexpr unsigned kSampled = 0x01, kKnown = 0x100, kRemote = 0x200;

json text(const char* key, std::string_view value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

json number(const char* key, std::uint64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

// A number of its own for each part, that nobody else takes: as SplitMix64 scatters them.
std::uint64_t part_id(std::uint64_t span, std::size_t part) {
  std::uint64_t id = span + (part + 1) * 0x9e3779b97f4a7c15;
  id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9;
  id = (id ^ (id >> 27)) * 0x94d049bb133111eb;
  id ^= id >> 31;
  return id == 0 ? 1 : id;
}

json span_of(const RequestSpan& request, std::uint64_t id, std::string_view name, TimePoint begun,
             TimePoint ended, const WallClock& clock) {
  return {{"traceId", to_hex(request.context.trace)},
          {"spanId", to_hex(id)},
          {"name", name},
          {"kind", kInternal},
          {"startTimeUnixNano", std::to_string(clock.unix_ns(begun))},
          {"endTimeUnixNano", std::to_string(clock.unix_ns(ended))},
          {"flags", kSampled | kKnown},
          {"status", {{"code", kStatusUnset}}}};
}

json attributes_of(const RequestSpan& request) {
  json attributes = {text("volvox.model", request.model), number("volvox.model_version", request.version),
                     text("volvox.door", to_string(request.door)),
                     text("volvox.outcome", request.error ? to_string(*request.error) : "ok"),
                     number("volvox.cells", request.cells)};
  if (request.attempts > 0) {
    attributes.push_back(text("volvox.node", request.node));
    attributes.push_back(number("volvox.attempts", request.attempts));
  }
  return attributes;
}

void append_request(const RequestSpan& request, const WallClock& clock, json& spans) {
  const std::vector<SpanPart> parts = parts_of(request);
  const TimePoint begun = request.at(SpanStage::kArrived).value_or(TimePoint{});
  json whole =
      span_of(request, request.span, request.model, begun, parts.empty() ? begun : parts.back().ended, clock);
  whole["kind"] = kServer;
  whole["attributes"] = attributes_of(request);
  if (request.context.parent != 0) {
    whole["parentSpanId"] = to_hex(request.context.parent);
    whole["flags"] = kSampled | kKnown | kRemote;
  }
  if (request.error) whole["status"] = {{"code", kStatusError}, {"message", to_string(*request.error)}};
  spans.push_back(std::move(whole));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    json part =
        span_of(request, part_id(request.span, i), parts[i].name, parts[i].begun, parts[i].ended, clock);
    part["parentSpanId"] = to_hex(request.span);
    spans.push_back(std::move(part));
  }
}

}  // namespace

std::size_t otlp_spans(const RequestSpan& request) {
  return 1 + parts_of(request).size();
}

std::string otlp_request(const OtlpSource& source, std::span<const RequestSpan> requests,
                         const WallClock& clock) {
  json spans = json::array();
  for (const RequestSpan& request : requests) append_request(request, clock, spans);
  const json scope = {{"name", "volvox"}, {"version", source.version}};
  const json resource = {{"attributes",
                          {text("service.name", "volvox"), text("service.instance.id", source.name),
                           text("service.version", source.version), number("process.pid", source.pid)}}};
  json document;
  document["resourceSpans"] = {
      {{"resource", resource}, {"scopeSpans", {{{"scope", scope}, {"spans", std::move(spans)}}}}}};
  // Names that clients made up may be no UTF-8.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace volvox
