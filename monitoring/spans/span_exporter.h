#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "monitoring/metrics/trace_metrics.h"
#include "monitoring/spans/collector.h"
#include "tracing/otlp.h"

namespace volvox {

struct ExporterOptions {
  OtlpSource source;
  std::size_t queue = 4096;                     // requests that wait
  std::size_t batch = 256;                      // of them in a message
  Duration interval = std::chrono::seconds(1);  // that one waits for others
  unsigned attempts = 4;                        // for a message
  Duration first_pause =
      std::chrono::seconds(1);  // between the first two; then twice as long each time, up to 30 s
};

// Hands traced requests to a collector, by a thread of its own: who serves requests never waits for it. What
// finds no room, or cannot be sent, is lost and counted.
class SpanExporter {
 public:
  // Sends one message, and waits for its answer; hurries once the flag is true.
  using Send = std::function<SendResult(const std::string& body, const std::atomic<bool>& hurry)>;

  // The metrics outlive it.
  SpanExporter(ExporterOptions options, TraceMetrics& metrics, Send send);
  // Tries what waits once more, as long as that succeeds.
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  // Any thread.
  void put(RequestSpan&& request);

 private:
  void run();
  std::vector<RequestSpan> next_batch();
  // False: it was given up.
  bool deliver(const std::vector<RequestSpan>& batch);
  // False: the process ends.
  bool pause(Duration span);
  void tell(const std::string& why);

  const ExporterOptions options_;
  TraceMetrics& metrics_;
  const Send send_;
  std::string trouble_;  // that the log knows of; the thread's own

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<RequestSpan> waiting_;
  std::atomic<bool> stopping_{false};

  std::thread thread_;  // the last: it uses all of them
};

}  // namespace volvox
