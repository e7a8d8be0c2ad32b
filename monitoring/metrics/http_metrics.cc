#include "monitoring/metrics/http_metrics.h"

#include <algorithm>
#include <string>

#include "monitoring/metrics/single_metrics.h"

namespace volvox {

HttpMetrics::HttpMetrics(prometheus::Registry& registry)
    : connections_(single_gauge(registry, "volvox_http_connections",
                                "Connections at http.listen, of http.max_connections.")),
      requests_(single_gauge(registry, "volvox_http_requests_in_progress",
                             "Inference requests over HTTP that hold a thread, of http.max_requests.")),
      bytes_(single_gauge(
          registry, "volvox_http_bytes_in_progress",
          "Bytes set aside for HTTP contents that are being read, decoded or written, of http.max_mib.")),
      sequences_(
          single_gauge(registry, "volvox_http_sequences",
                       "Sequences over HTTP that are known, ended ones included, of http.max_sequences.")),
      clients_gone_(single_counter(registry, "volvox_http_clients_gone_total",
                                   "HTTP clients that hung up before their answer.")),
      cut_(single_counter(registry, "volvox_http_connections_cut_total",
                          "HTTP and monitoring connections cut, since their clients were too slow, or had "
                          "asked nothing when the door was full.")),
      connections_refused_(
          single_counter(registry, "volvox_http_connections_refused_total",
                         "HTTP and monitoring connections not let in: http.max_connections, "
                         "http.max_connections_per_client or server.max_monitor_connections.")) {
  auto& family = prometheus::BuildCounter()
                     .Name("volvox_http_answers_total")
                     .Help("Answers over HTTP by status, questions of health included.")
                     .Register(registry);
  for (std::size_t i = 0; i < kStatuses.size(); ++i)
    answers_[i] = &family.Add({{"status", std::to_string(kStatuses[i])}});
  auto& refused =
      prometheus::BuildCounter()
          .Name("volvox_http_refused_total")
          .Help("Requests turned away at the doors for HTTP and monitoring, by the rule they broke.")
          .Register(registry);
  constexpr std::array<const char*, kHttpRefusals> kReasons{"host", "origin", "content_type", "token"};
  for (std::size_t i = 0; i < kHttpRefusals; ++i) refused_[i] = &refused.Add({{"reason", kReasons[i]}});
}

void HttpMetrics::answered(int status) {
  const auto* found = std::find(kStatuses.begin(), kStatuses.end(), status);
  if (found == kStatuses.end()) found = std::find(kStatuses.begin(), kStatuses.end(), 500);
  answers_[static_cast<std::size_t>(found - kStatuses.begin())]->Increment();
}

void HttpMetrics::set_in_progress(std::size_t requests, std::uint64_t bytes) {
  requests_.Set(static_cast<double>(requests));
  bytes_.Set(static_cast<double>(bytes));
}

}  // namespace volvox
