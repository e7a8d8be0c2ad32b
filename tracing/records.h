#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/door.h"
#include "base/error.h"
#include "base/time.h"
#include "tracing/trace_context.h"

namespace volvox {

// What a request passes, in this order. One that fails leaves some out.
enum class SpanStage : std::uint8_t {
  kArrived,
  kHandedOn,   // checked and unfolded, to a scheduler; at a router: sent to a node
  kFirstTask,  // the first one with a row of it was submitted; never at a router
  kDone,       // the last one is; at a router: the node's answer came
  kReplied,    // the answer was given to the door that it leaves by
};
inline constexpr std::size_t kSpanStages = 5;

// What a traced request is recorded for.
struct TraceAims {
  bool captured = false;  // whoever watches everything now
  bool exported = false;  // whoever collects samples
};

// One request in one process.
struct RequestSpan {
  std::uint64_t key = 0;  // the request's own within the process
  TraceContext context;   // parent: whoever sent it
  std::uint64_t span = 0;
  Door door{};
  std::string model;
  std::uint32_t version = 0;
  std::string node;                                           // a router's: who ran it last
  std::uint32_t attempts = 0;                                 // likewise: how often it was placed
  std::array<std::optional<TimePoint>, kSpanStages> reached;  // by SpanStage
  std::optional<ErrorCode> error;                             // nothing: it was answered with a result
  std::uint32_t cells = 0;
  std::uint32_t size = 0;  // of its structure, as size_of() counts; 0: not known

  std::optional<TimePoint> at(SpanStage stage) const { return reached[static_cast<std::size_t>(stage)]; }
};

// A part of the request's time: between two stages that it reached.
struct SpanPart {
  std::string_view name;  // "edge", "queue", "compute", "placement", "node", "reply"
  TimePoint begun{}, ended{};
};
std::vector<SpanPart> parts_of(const RequestSpan& span);

// One batched task that ran.
struct TaskSpan {
  std::uint32_t device = 0, worker = 0;
  std::string device_name;
  std::string cell;  // "MODEL/VERSION/TYPE"
  std::uint64_t seq = 0;
  std::uint32_t rows = 0, padded_rows = 0;
  TimePoint begun{}, ended{};
  bool own_clock = false;                   // the queue told when it ran; else its worker saw it then
  std::vector<std::uint64_t> joined, left;  // keys of the traced requests that came into it, or left after it
};

}  // namespace volvox
