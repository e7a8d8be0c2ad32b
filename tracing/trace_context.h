#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace volvox {

// One request's number in all the processes that work on it (W3C Trace Context, §2.2). 0 is none.
struct TraceId {
  std::uint64_t hi = 0, lo = 0;
  bool valid() const { return (hi | lo) != 0; }
  bool operator==(const TraceId&) const = default;
};

// What a request brings of the trace that it is part of.
struct TraceContext {
  TraceId trace;
  std::uint64_t parent = 0;  // the caller's span; 0: none
  bool sampled = false;      // the caller records it, and wants to see the rest
  bool operator==(const TraceContext&) const = default;
};

// Of the header `traceparent`: "00-<32 hex>-<16 hex>-<2 hex>", lower case, ids not all 0. A later version may
// have more after that. Nothing: it is to be ignored (§3.2.2.3), as if the request had none.
std::optional<TraceContext> parse_traceparent(std::string_view text);
// What is handed on to the next process, or told to whoever asked.
std::string to_traceparent(const TraceContext& context);

// 32 and 16 lower-case digits, as OpenTelemetry writes them.
std::string to_hex(TraceId id);
std::string to_hex(std::uint64_t span);

}  // namespace volvox
