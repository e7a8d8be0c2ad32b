#include "tracing/otlp.h"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/mixing.h"

namespace volvox {
namespace {

// opentelemetry/proto/trace/v1/trace.proto
constexpr int kInternal = 1, kServer = 2;  // SpanKind
constexpr int kStatusError = 2;            // Status.code
// SpanFlags: sampled; known to have its parent in this process, or in another one.
constexpr unsigned kSampled = 0x01, kKnown = 0x100, kRemote = 0x200;

// Names that clients made up may be no UTF-8.
void append_text(std::string& out, std::string_view text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Members of an attribute's list; with the comma that parts it from the one before.
void append_attribute(std::string& out, std::string_view key, std::string_view text) {
  out.append(out.back() == '[' ? "" : ",").append(R"({"key":")").append(key);
  out.append(R"(","value":{"stringValue":)");
  append_text(out, text);
  out += "}}";
}

void append_attribute(std::string& out, std::string_view key, std::uint64_t number) {
  out.append(out.back() == '[' ? "" : ",").append(R"({"key":")").append(key);
  out.append(R"(","value":{"intValue":")").append(std::to_string(number)).append(R"("}})");
}

// A number of its own for each part, that nobody else takes: as SplitMix64 scatters them.
std::uint64_t part_id(std::uint64_t span, std::size_t part) {
  const std::uint64_t id = scattered(span + (part + 1) * kScatterStep);
  return id == 0 ? 1 : id;
}

struct Span {
  const RequestSpan& request;
  std::uint64_t id = 0, parent = 0;
  std::string_view name;
  TimePoint begun{}, ended{};
  int kind = kInternal;
  unsigned flags = kSampled | kKnown;
};

// All but its attributes and its end.
void append_span(std::string& out, const Span& span, const WallClock& clock) {
  out.append(out.back() == '[' ? "" : ",").append(R"({"traceId":")");
  out.append(to_hex(span.request.context.trace)).append(R"(","spanId":")").append(to_hex(span.id));
  if (span.parent != 0) out.append(R"(","parentSpanId":")").append(to_hex(span.parent));
  out.append(R"(","name":)");
  append_text(out, span.name);
  out.append(R"(,"kind":)").append(std::to_string(span.kind));
  out.append(R"(,"flags":)").append(std::to_string(span.flags));
  out.append(R"(,"startTimeUnixNano":")").append(std::to_string(clock.unix_ns(span.begun)));
  out.append(R"(","endTimeUnixNano":")").append(std::to_string(clock.unix_ns(span.ended))).append("\"");
}

void append_attributes(std::string& out, const RequestSpan& request) {
  out += R"(,"attributes":[)";
  append_attribute(out, "volvox.model", request.model);
  append_attribute(out, "volvox.model_version", request.version);
  append_attribute(out, "volvox.door", to_string(request.door));
  append_attribute(out, "volvox.outcome", request.error ? to_string(*request.error) : "ok");
  append_attribute(out, "volvox.cells", request.cells);
  if (request.attempts > 0) {
    append_attribute(out, "volvox.node", request.node);
    append_attribute(out, "volvox.attempts", request.attempts);
  }
  out += "]";
}

void append_request(std::string& out, const RequestSpan& request, const WallClock& clock) {
  const std::vector<SpanPart> parts = parts_of(request);
  const TimePoint begun = request.at(SpanStage::kArrived).value_or(TimePoint{});
  const TimePoint ended = parts.empty() ? begun : parts.back().ended;
  Span whole{request, request.span, request.context.parent, request.model, begun, ended, kServer};
  if (whole.parent != 0) whole.flags |= kRemote;
  append_span(out, whole, clock);
  append_attributes(out, request);
  if (request.error) {
    out.append(R"(,"status":{"code":)").append(std::to_string(kStatusError)).append(R"(,"message":")");
    out.append(to_string(*request.error)).append("\"}");
  }
  out += "}";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const SpanPart& part = parts[i];
    append_span(out, {request, part_id(request.span, i), request.span, part.name, part.begun, part.ended},
                clock);
    out += "}";
  }
}

}  // namespace

std::size_t otlp_spans(const RequestSpan& request) {
  return 1 + parts_of(request).size();
}

std::string otlp_request(const OtlpSource& source, std::span<const RequestSpan> requests,
                         const WallClock& clock) {
  std::string out = R"({"resourceSpans":[{"resource":{"attributes":[)";
  append_attribute(out, "service.name", "volvox");
  append_attribute(out, "service.instance.id", source.name);
  append_attribute(out, "service.version", source.version);
  append_attribute(out, "process.pid", source.pid);
  out += R"(]},"scopeSpans":[{"scope":{"name":"volvox","version":)";
  append_text(out, source.version);
  out += R"(},"spans":[)";
  for (const RequestSpan& request : requests) append_request(out, request, clock);
  out += "]}]}]}";
  return out;
}

}  // namespace volvox
