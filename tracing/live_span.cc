#include "tracing/live_span.h"

#include <new>
#include <utility>

#include "tracing/recorder.h"

namespace volvox {

std::vector<SpanPart> parts_of(const RequestSpan& span) {
  const bool routed = span.attempts > 0;
  const std::array<std::string_view, kSpanStages> names{"", routed ? "placement" : "edge", "queue",
                                                        routed ? "node" : "compute", "reply"};
  std::vector<SpanPart> parts;
  std::optional<TimePoint> from = span.at(SpanStage::kArrived);
  for (std::size_t stage = 1; from && stage < kSpanStages; ++stage) {
    const auto to = span.reached[stage];
    if (!to || *to < *from) continue;
    parts.push_back({names[stage], *from, *to});
    from = to;
  }
  return parts;
}

LiveSpan::LiveSpan(std::shared_ptr<TraceRecorder> recorder, RequestSpan begun, TraceAims aims)
    : recorder_(std::move(recorder)), begun_(std::move(begun)), aims_(aims) {}

LiveSpan::~LiveSpan() {
  for (std::size_t stage = 0; stage < kSpanStages; ++stage) {
    const std::int64_t at = reached_[stage].load(std::memory_order_relaxed);
    if (at != kNever) begun_.reached[stage] = TimePoint(Duration(at));
  }
  if (const std::uint32_t error = error_.load(std::memory_order_relaxed))
    begun_.error = static_cast<ErrorCode>(error);
  begun_.cells = cells_.load(std::memory_order_relaxed);
  begun_.size = size_.load(std::memory_order_relaxed);
  try {
    recorder_->record(std::move(begun_), aims_);
  } catch (const std::bad_alloc&) {
    recorder_->lose();
  }
}

void LiveSpan::place(const std::string& node, TimePoint at) {
  begun_.node = node;
  ++begun_.attempts;
  reach(SpanStage::kHandedOn, at);
}

void LiveSpan::end(std::optional<ErrorCode> error, std::uint32_t cells) {
  error_.store(error ? static_cast<std::uint32_t>(*error) : 0, std::memory_order_relaxed);
  cells_.store(cells, std::memory_order_relaxed);
}

}  // namespace volvox
