#include "tracing/recorder.h"

#include <algorithm>
#include <utility>

#include "base/mixing.h"

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

TraceRecorder::TraceRecorder(RecorderOptions options)
    : options_(std::move(options)),
      sampler_(options_.sampling),
      watches_(options_.on_sampled ? kSamples : 0U),
      ids_(options_.seed) {}

// SplitMix64: every number once, and nothing to wait for.
std::uint64_t TraceRecorder::next_id() {
  const std::uint64_t id = scattered(ids_.fetch_add(kScatterStep, std::memory_order_relaxed));
  return id == 0 ? 1 : id;
}

std::shared_ptr<LiveSpan> TraceRecorder::begin_watched(const TraceContext& context, Door door,
                                                       const std::string& model, std::uint32_t version,
                                                       TimePoint arrival) {
  TraceContext named = context;
  if (!named.trace.valid()) named = {{next_id(), next_id()}, 0, false};
  const TraceAims aims{captures(arrival), wants_sample(named, door, arrival)};
  if (!aims.captured && !aims.exported) return nullptr;
  RequestSpan span;
  span.context = named;
  span.span = next_id();
  span.door = door;
  span.model = model;
  span.version = version;
  auto live = std::make_shared<LiveSpan>(shared_from_this(), std::move(span), aims);
  live->reach(SpanStage::kArrived, arrival);
  return live;
}

bool TraceRecorder::captures(TimePoint at) {
  if (!wants_tasks()) return false;
  const std::lock_guard lock(mutex_);
  return is_open(at);
}

// Of what a router sends, it has chosen already.
bool TraceRecorder::wants_sample(const TraceContext& context, Door door, TimePoint arrival) {
  if (!options_.on_sampled) return false;
  if (door == Door::kCluster) return context.sampled;
  return sampler_.chooses(context.trace) || (context.sampled && sampler_.follows(arrival));
}

bool TraceRecorder::is_open(TimePoint at) {
  if (!capture_) return false;
  if (at >= until_) watches_.fetch_and(~kCapture, std::memory_order_relaxed);
  return at < until_;
}

bool TraceRecorder::find_room(std::size_t bytes) {
  if (bytes_ + bytes <= options_.capture_bytes) {
    bytes_ += bytes;
    return true;
  }
  lose_one();
  return false;
}

void TraceRecorder::record(RequestSpan&& span, TraceAims aims) {
  if (aims.exported && aims.captured) {
    options_.on_sampled(RequestSpan(span));
  } else if (aims.exported) {
    return options_.on_sampled(std::move(span));
  }
  record_in_capture(std::move(span));
}

void TraceRecorder::record_in_capture(RequestSpan&& span) {
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

void TraceRecorder::lose() {
  const std::lock_guard lock(mutex_);
  lose_one();
}

void TraceRecorder::lose_one() {
  if (capture_) ++capture_->lost;
  if (options_.on_lost) options_.on_lost(1);
}

Result<std::uint64_t> TraceRecorder::start_capture(TimePoint now, TimePoint until) {
  const std::lock_guard lock(mutex_);
  if (is_open(now)) return fail(ErrorCode::kOverloaded, "another trace is being taken; try again later");
  if (capture_ && now < until_ + kUnread)
    return fail(ErrorCode::kOverloaded, "another trace waits to be read; try again in a few seconds");
  capture_ = std::make_unique<TraceCapture>();
  capture_->begun = now;
  until_ = capture_->ended = until;
  bytes_ = 0;
  watches_.fetch_or(kCapture, std::memory_order_relaxed);
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
