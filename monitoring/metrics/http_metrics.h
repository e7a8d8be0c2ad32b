#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "serving/http_rules.h"

namespace volvox {

// What is counted at the HTTP door, besides the requests themselves (RequestMetrics). All calls from any
// thread.
class HttpMetrics {
 public:
  explicit HttpMetrics(prometheus::Registry& registry);

  // An answer with this status was written, or could have been.
  void answered(int status);
  // Inference requests that hold a thread, and the bytes of their contents.
  void set_in_progress(std::size_t requests, std::uint64_t bytes);
  // Sequences that are known, ended ones included.
  void set_sequences(std::size_t sequences) { sequences_.Set(static_cast<double>(sequences)); }
  // A request was turned away at a door: at this one, or at that of the monitoring pages.
  void refused(HttpRefusal reason) { refused_[static_cast<std::size_t>(reason)]->Increment(); }
  // A client hung up before its answer.
  void client_gone() { clients_gone_.Increment(); }
  // So many connections are open.
  void set_connections(std::size_t connections) { connections_.Set(static_cast<double>(connections)); }
  // A connection was not let in: as many are open as may be.
  void connection_refused() { connections_refused_.Increment(); }
  // Connections were cut: their clients sent or read too slowly.
  void cut(std::size_t connections) { cut_.Increment(static_cast<double>(connections)); }

 private:
  static constexpr std::array<int, 16> kStatuses{200, 400, 401, 403, 404, 405, 408, 409,
                                                 410, 413, 415, 429, 499, 500, 503, 504};

  std::array<prometheus::Counter*, kStatuses.size()> answers_{};
  std::array<prometheus::Counter*, kHttpRefusals> refused_{};
  prometheus::Gauge& connections_;
  prometheus::Gauge& requests_;
  prometheus::Gauge& bytes_;
  prometheus::Gauge& sequences_;
  prometheus::Counter& clients_gone_;
  prometheus::Counter& cut_;
  prometheus::Counter& connections_refused_;
};

}  // namespace volvox
