#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/error.h"
#include "monitoring/metrics/door_metrics.h"
#include "monitoring/metrics/outcomes.h"

namespace volvox {

// How one request ended, as the client saw it.
struct RequestSample {
  std::optional<ErrorCode> error;                            // nothing: it was answered with a result
  std::uint64_t queue_us = 0, compute_us = 0, total_us = 0;  // counted for results only
};

// What a request was refused for, where it was OVERLOADED, or too late.
enum class Bound : std::uint8_t { kInFlight, kClient, kKey, kResults, kDeadline };
// Why a client that had requests in flight counts as gone.
enum class LostClient : std::uint8_t { kUnreachable, kSlow, kSilent };
const char* to_string(Bound bound);
const char* to_string(LostClient why);

// What waits at the edge at the moment.
struct EdgeGauges {
  std::size_t clients = 0;  // that have requests in flight
  std::size_t waiting_replies = 0, waiting_bytes = 0;
  double backlog_seconds = 0;     // estimated, of all that is accepted
  std::size_t waiting_parts = 0;  // of bundles that nobody has looked into
};

// What is counted for every request. A look-up by label costs ten times the increment, so every counter is
// found once, here, and kept. All calls from any thread.
class RequestMetrics {
 public:
  explicit RequestMetrics(prometheus::Registry& registry);

  void answered(const RequestSample& sample);
  // Many at once, as the parts of a bundle are; cheaper than one after the other. Where memory is short for
  // that it throws, and has counted none.
  void answered(std::span<const RequestSample> samples);
  // Requests accepted and not answered, and the bytes of their bodies.
  void set_in_flight(std::size_t requests, std::size_t bytes);
  // So many replies could not reach their clients.
  void replies_dropped(std::uint64_t count);
  // So many connections were not let in.
  void clients_refused(std::uint64_t count) { clients_refused_.Increment(static_cast<double>(count)); }
  // A ping or a cancel was one too many.
  void signal_ignored() { signals_ignored_.Increment(); }
  // Whether the folder of client keys cannot be read.
  void set_keys_unreadable(bool unreadable) { keys_unreadable_.Set(unreadable ? 1 : 0); }
  // A bundle came, and its parts were looked at one by one; or it was refused as a whole.
  void bundle_taken(std::size_t parts) {
    bundles_taken_->Increment();
    bundled_parts_.Increment(static_cast<double>(parts));
  }
  void bundle_refused() { bundles_refused_->Increment(); }
  // A part of a streamed answer was sent.
  void partial_sent() { partials_.Increment(); }
  void refused(Bound bound) { refused_[static_cast<std::size_t>(bound)]->Increment(); }
  void lost(LostClient why) { lost_[static_cast<std::size_t>(why)]->Increment(); }
  void set_edge(const EdgeGauges& gauges);
  void set_door(const DoorCounts& counts) { door_.set(counts); }
  // A task did not end in time.
  void task_stuck() { stuck_.Increment(); }
  // A device failed under a request, and another one runs it.
  void rerun() { reruns_.Increment(); }
  // A request asked for a higher priority than its client may have.
  void priority_cut() { priorities_cut_.Increment(); }
  // An actor failed and was replaced.
  void restarted();

 private:
  std::array<prometheus::Counter*, kOutcomes> outcomes_{};
  prometheus::Histogram& queue_;
  prometheus::Histogram& compute_;
  prometheus::Histogram& total_;
  prometheus::Gauge& requests_in_flight_;
  prometheus::Gauge& bytes_in_flight_;
  prometheus::Counter& clients_refused_;
  prometheus::Counter& signals_ignored_;
  prometheus::Gauge& keys_unreadable_;
  prometheus::Counter& partials_;
  prometheus::Counter *bundles_taken_ = nullptr, *bundles_refused_ = nullptr;
  prometheus::Counter& bundled_parts_;
  prometheus::Counter& replies_dropped_;
  prometheus::Counter& restarts_;
  std::array<prometheus::Counter*, 5> refused_{};  // by Bound
  std::array<prometheus::Counter*, 3> lost_{};     // by LostClient
  prometheus::Gauge& clients_;
  prometheus::Gauge& waiting_replies_;
  prometheus::Gauge& waiting_bytes_;
  prometheus::Gauge& backlog_;
  prometheus::Gauge& waiting_parts_;
  prometheus::Counter& stuck_;
  prometheus::Counter& reruns_;
  prometheus::Counter& priorities_cut_;
  DoorMetrics door_;
};

}  // namespace volvox
