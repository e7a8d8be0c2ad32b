#include "tracing/recorder.h"

#include <algorithm>
#include <utility>

namespace volvox {
namespace {

std::size_t bytes_of(const RequestSpan& span) {
  return sizeof span + span.model.size() + span.node.size();
}

std::size_t bytes_of(const TaskSpan& span) {
  return sizeof span + span.device_name.size() + span.cell.size() +
         (span.joined.size() + span.left.size()) * sizeof(std::uint64_t);
}

TimePoint arrival(const RequestSpan& span) {
  return span.at(SpanStage::kArrived).value_or(TimePoint{});
}

}  // namespace

TraceRecorder::TraceRecorder(RecorderOptions options) : options_(std::move(options)), ids_(options_.seed) {}

// SplitMix64: every number once, and nothing to wait for.
std::uint64_t TraceRecorder::next_id() {
  std::uint64_t id = ids_.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
  id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9;
  id = (id ^ (id >> 27)) * 0x94d049bb133111eb;
  id ^= id >> 31;
  return id == 0 ? 1 : id;
}

std::shared_ptr<LiveSpan> TraceRecorder::begin_watched(const TraceContext& context, SpanDoor door,
                                                       const std::string& model, std::uint32_t version,
                                                       TimePoint arrival) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_open(arrival)) return nullptr;
  }
  RequestSpan span;
  span.context = context;
  if (!span.context.trace.valid()) span.context = {{next_id(), next_id()}, 0, false};
  span.span = next_id();
  span.door = door;
  span.model = model;
  span.version = version;
  auto live = std::make_shared<LiveSpan>(shared_from_this(), std::move(span));
  live->reach(SpanStage::kArrived, arrival);
  return live;
}

bool TraceRecorder::is_open(TimePoint at) {
  if (!capture_ || !watches_.load(std::memory_order_relaxed)) return false;
  if (at < until_) return true;
  watches_.store(false, std::memory_order_relaxed);
  capture_->ended = until_;
  return false;
}

bool TraceRecorder::find_room(std::size_t bytes) {
  if (bytes_ + bytes <= options_.capture_bytes) {
    bytes_ += bytes;
    return true;
  }
  ++capture_->lost;
  if (options_.on_lost) options_.on_lost(1);
  return false;
}

void TraceRecorder::record(RequestSpan&& span) {
  const TimePoint ended = span.at(SpanStage::kReplied).value_or(arrival(span));
  const std::lock_guard lock(mutex_);
  // It may be left over from a capture before.
  if (!is_open(ended) || arrival(span) < capture_->begun || !find_room(bytes_of(span))) return;
  capture_->requests.push_back(std::move(span));
}

void TraceRecorder::record(TaskSpan&& span) {
  const std::lock_guard lock(mutex_);
  if (!is_open(span.ended) || span.ended < capture_->begun || !find_room(bytes_of(span))) return;
  capture_->tasks.push_back(std::move(span));
}

Result<std::uint64_t> TraceRecorder::start_capture(TimePoint now, TimePoint until) {
  const std::lock_guard lock(mutex_);
  if (is_open(now)) return fail(ErrorCode::kOverloaded, "another trace is being taken; try again later");
  capture_ = std::make_unique<TraceCapture>();
  capture_->begun = now;
  until_ = capture_->ended = until;
  bytes_ = 0;
  watches_.store(true, std::memory_order_relaxed);
  return ++number_;
}

Result<TraceCapturePtr> TraceRecorder::finish_capture(std::uint64_t number, TimePoint now) {
  std::unique_ptr<TraceCapture> capture;
  {
    const std::lock_guard lock(mutex_);
    if (!capture_ || number != number_) return invalid("there is no such trace; take one anew");
    if (is_open(now)) return nullptr;
    capture = std::move(capture_);
  }
  std::stable_sort(capture->requests.begin(), capture->requests.end(),
                   [](const RequestSpan& a, const RequestSpan& b) { return arrival(a) < arrival(b); });
  return TraceCapturePtr(std::move(capture));
}

}  // namespace volvox
