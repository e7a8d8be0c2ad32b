#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/wall_clock.h"
#include "tracing/records.h"

namespace volvox {

// Which process the spans are of.
struct OtlpSource {
  std::string name;     // of the process, among those of the cluster
  std::string version;  // of the program
  std::uint64_t pid = 0;
};

// An ExportTraceServiceRequest of OpenTelemetry's protocol, in its JSON form: ids in hexadecimal, 64-bit
// numbers as strings. Each request is a span of kind SERVER, whose children are its parts. Any thread.
std::string otlp_request(const OtlpSource& source, std::span<const RequestSpan> requests,
                         const WallClock& clock);

// How many spans that are.
std::size_t otlp_spans(const RequestSpan& request);

}  // namespace volvox
