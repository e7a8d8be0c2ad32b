#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/error.h"

namespace volvox {

// How one request ended, as the client saw it.
struct RequestSample {
  std::optional<ErrorCode> error;                            // nothing: it was answered with a result
  std::uint64_t queue_us = 0, compute_us = 0, total_us = 0;  // counted for results only
};

// What is counted for every request. A look-up by label costs ten times the increment, so every counter is
// found once, here, and kept. All calls from any thread.
class RequestMetrics {
 public:
  explicit RequestMetrics(prometheus::Registry& registry);

  void answered(const RequestSample& sample);
  // Requests accepted and not answered, and the bytes of their bodies.
  void set_in_flight(std::size_t requests, std::size_t bytes);
  // So many replies could not reach their clients.
  void replies_dropped(std::uint64_t count);
  // So many connections were not let in.
  void clients_refused(std::uint64_t count) { clients_refused_.Increment(static_cast<double>(count)); }
  // A part of a streamed answer was sent.
  void partial_sent() { partials_.Increment(); }
  // An actor failed and was replaced.
  void restarted();

 private:
  static constexpr std::size_t kOutcomes = 1 + static_cast<std::size_t>(ErrorCode::kInternal);

  std::array<prometheus::Counter*, kOutcomes> outcomes_{};  // [0] is "ok", else the error's number
  prometheus::Histogram& queue_;
  prometheus::Histogram& compute_;
  prometheus::Histogram& total_;
  prometheus::Gauge& requests_in_flight_;
  prometheus::Gauge& bytes_in_flight_;
  prometheus::Counter& clients_refused_;
  prometheus::Counter& partials_;
  prometheus::Counter& replies_dropped_;
  prometheus::Counter& restarts_;
};

}  // namespace volvox
