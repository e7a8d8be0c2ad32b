#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "tracing/live_span.h"
#include "tracing/records.h"
#include "tracing/sampler.h"

namespace volvox {

// Everything that was recorded while somebody watched.
struct TraceCapture {
  TimePoint begun{}, ended{};
  std::vector<RequestSpan> requests;  // by arrival
  std::vector<TaskSpan> tasks;        // of each worker in the order in which they ran
  std::uint64_t lost = 0;             // records that found no room
};
using TraceCapturePtr = std::shared_ptr<const TraceCapture>;

struct RecorderOptions {
  std::size_t capture_bytes = 64U << 20;               // that the records of one capture may take
  std::uint64_t seed = 0;                              // of span and trace ids: nobody else's in the cluster
  std::function<void(std::uint64_t count)> on_lost{};  // records that found no room; any thread
  SamplingOptions sampling{};
  std::function<void(RequestSpan&&)> on_sampled{};  // ended; any thread. Null: nobody wants samples
};

// What requests and tasks went through, for whoever wants to see it. Where nobody does, it costs a request
// and a task one relaxed load each. Bounded: what finds no room is lost, and counted. Any thread; the clock
// is an argument.
class TraceRecorder : public std::enable_shared_from_this<TraceRecorder> {
 public:
  // So long a capture that is over waits to be fetched before another may take its place.
  static constexpr Duration kUnread = std::chrono::seconds(10);

  explicit TraceRecorder(RecorderOptions options);

  // A request has come in. Null: it is not traced.
  std::shared_ptr<LiveSpan> begin(const TraceContext& context, Door door, const std::string& model,
                                  std::uint32_t version, TimePoint arrival) {
    if (!wants_requests()) return nullptr;
    return begin_watched(context, door, model, version, arrival);
  }
  // Whether any request is to be recorded now.
  bool wants_requests() const { return watches_.load(std::memory_order_relaxed) != 0; }
  // Whether tasks are to be recorded now.
  bool wants_tasks() const { return (watches_.load(std::memory_order_relaxed) & kCapture) != 0; }

  void record(RequestSpan&& span, TraceAims aims);
  void record(TaskSpan&& span);
  // A record for which there was no memory.
  void lose();

  // Records all requests that arrive from now on, and all tasks that end, until finish_capture(), or until
  // `until`, whoever calls. OVERLOADED while another capture runs, and for kUnread while one that is over has
  // not been fetched.
  Result<std::uint64_t> start_capture(TimePoint now, TimePoint until);
  // Null: it runs on, for there is time left and nobody says stop. NOT its number: INVALID_ARGUMENT. Once.
  Result<TraceCapturePtr> finish_capture(std::uint64_t number, TimePoint now);

 private:
  std::shared_ptr<LiveSpan> begin_watched(const TraceContext& context, Door door, const std::string& model,
                                          std::uint32_t version, TimePoint arrival);
  bool wants_sample(const TraceContext& context, Door door, TimePoint arrival);
  bool captures(TimePoint at);
  void record_in_capture(RequestSpan&& span);
  std::uint64_t next_id();
  bool find_room(std::size_t bytes);
  void lose_one();
  // Under the mutex: whether a record of this moment belongs to the capture.
  bool is_open(TimePoint at);

  static constexpr unsigned kCapture = 1, kSamples = 2;

  const RecorderOptions options_;
  TraceSampler sampler_;
  std::atomic<unsigned> watches_;  // who wants something
  std::atomic<std::uint64_t> ids_;

  std::mutex mutex_;  // guards what follows
  std::uint64_t number_ = 0;
  std::unique_ptr<TraceCapture> capture_;  // null: none runs, or waits to be fetched
  TimePoint until_{};
  std::size_t bytes_ = 0;
};

}  // namespace volvox
