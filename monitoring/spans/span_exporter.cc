#include "monitoring/spans/span_exporter.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

namespace volvox {
namespace {

constexpr auto kShortOfMemory = std::chrono::milliseconds(100);
constexpr Duration kMostPause = std::chrono::seconds(30);

std::size_t spans_in(const std::vector<RequestSpan>& batch) {
  std::size_t spans = 0;
  for (const RequestSpan& request : batch) spans += otlp_spans(request);
  return spans;
}

}  // namespace

SpanExporter::SpanExporter(ExporterOptions options, TraceMetrics& metrics, Send send)
    : options_(std::move(options)), metrics_(metrics), send_(std::move(send)), thread_([this] { run(); }) {}

SpanExporter::~SpanExporter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SpanExporter::put(RequestSpan&& request) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < options_.queue) {
      waiting_.push_back(std::move(request));
      metrics_.set_waiting(waiting_.size());
      // One wakes the thread, which then waits for others to go with it.
      if (waiting_.size() != 1 && waiting_.size() != options_.batch) return;
    } else {
      return metrics_.exported(ExportOutcome::kNoRoom, otlp_spans(request));
    }
  }
  changed_.notify_all();
}

void SpanExporter::run() {
  bool reachable = true;
  for (;;) {
    std::vector<RequestSpan> batch;
    try {
      batch = next_batch();
    } catch (const std::bad_alloc&) {  // what waits, waits on
      std::this_thread::sleep_for(kShortOfMemory);
      continue;
    }
    if (batch.empty()) return;
    // At the end nobody waits for a collector that does not answer.
    if (stopping_ && !reachable) {
      metrics_.exported(ExportOutcome::kUnreachable, spans_in(batch));
    } else {
      try {
        reachable = deliver(batch);
      } catch (const std::bad_alloc&) {  // the text of a message takes much at once
        metrics_.exported(ExportOutcome::kUnreachable, spans_in(batch));
      }
    }
  }
}

std::vector<RequestSpan> SpanExporter::next_batch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
  changed_.wait_for(lock, options_.interval, [&] { return stopping_ || waiting_.size() >= options_.batch; });
  const std::size_t count = std::min(waiting_.size(), options_.batch);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<RequestSpan> batch(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  metrics_.set_waiting(waiting_.size());
  return batch;
}

bool SpanExporter::deliver(const std::vector<RequestSpan>& batch) {
  const std::string body = otlp_request(options_.source, batch, WallClock::now());
  const std::size_t spans = spans_in(batch);
  Duration rest = options_.first_pause;
  for (unsigned attempt = 1;; ++attempt) {
    const SendResult result = send_(body, stopping_);
    tell(result.why);
    if (result.kind == SendResult::Kind::kTaken) {
      const auto refused = static_cast<std::size_t>(std::min<std::uint64_t>(result.refused_spans, spans));
      metrics_.exported(ExportOutcome::kSent, spans - refused);
      metrics_.exported(ExportOutcome::kRefused, refused);
      return true;
    }
    if (result.kind == SendResult::Kind::kRefused) {
      metrics_.exported(ExportOutcome::kRefused, spans);
      return true;
    }
    if (attempt >= options_.attempts || !pause(std::max(rest, result.wait))) break;
    rest = std::min<Duration>(2 * rest, kMostPause);
  }
  metrics_.exported(ExportOutcome::kUnreachable, spans);
  return false;
}

bool SpanExporter::pause(Duration span) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, span, [&] { return stopping_.load(); });
}

// What goes on is said once.
void SpanExporter::tell(const std::string& why) {
  if (why == trouble_) return;
  trouble_ = why;
  if (why.empty()) return spdlog::info("the collector takes all traces again");
  spdlog::warn("the collector does not take all traces: {}", why);
}

}  // namespace volvox
