#include "monitoring/metrics/cluster_metrics.h"

#include "monitoring/metrics/single_metrics.h"

namespace volvox {

ClusterMetrics::ClusterMetrics(prometheus::Registry& registry)
    : members_(
          single_gauge(registry, "volvox_cluster_members", "Of a router: nodes that it has as members.")),
      in_flight_(single_gauge(registry, "volvox_cluster_requests_in_flight",
                              "Of a router: requests that are on nodes.")),
      joins_(single_counter(registry, "volvox_cluster_joins_total", "Nodes that joined.")),
      refused_(single_counter(registry, "volvox_cluster_joins_refused_total",
                              "Joins that were refused: of another cluster, version or process.")),
      suspicions_(single_counter(registry, "volvox_cluster_suspicions_total", "Nodes that grew silent.")),
      deaths_(single_counter(registry, "volvox_cluster_deaths_total", "Nodes that were taken for dead.")),
      retries_(single_counter(registry, "volvox_cluster_retries_total",
                              "Requests that were tried on another node.")),
      late_(single_counter(
          registry, "volvox_cluster_late_answers_total",
          "Answers that were dropped: another attempt is the newest, or the request is over.")),
      conflicts_(
          single_counter(registry, "volvox_cluster_digest_conflicts_total",
                         "Models that a node offers with other weights than the rest: look at its log.")),
      undecided_(single_counter(
          registry, "volvox_cluster_undecided_parts_total",
          "Parts of sessions of which the router had to say that nobody knows what became of them.")),
      connections_refused_(single_counter(registry, "volvox_cluster_connections_refused_total",
                                          "Connections to cluster.listen that did not get through the TLS "
                                          "handshake, or for which there was no room.")),
      dials_failed_(single_counter(registry, "volvox_cluster_dials_failed_total",
                                   "Of a node: attempts to reach a router that failed.")),
      newcomers_dropped_(single_counter(registry, "volvox_cluster_newcomers_dropped_total",
                                        "Peers that were forgotten: they did not join within "
                                        "cluster.join_ms, or had to give way to others.")),
      queued_bytes_(
          single_gauge(registry, "volvox_cluster_queued_bytes", "Bytes that wait on links to be sent.")),
      certificate_end_(prometheus::BuildGauge()
                           .Name("volvox_certificate_expiry_timestamp_seconds")
                           .Help("When the first of cluster.tls_certificate and tls_ca expires, since 1970; "
                                 "only where links are encrypted.")
                           .Register(registry)) {}

void ClusterMetrics::set_certificate_end(std::int64_t since_1970) {
  certificate_end_.Add({}).Set(static_cast<double>(since_1970));
}

void ClusterMetrics::set_members(std::size_t members, std::size_t in_flight) {
  members_.Set(static_cast<double>(members));
  in_flight_.Set(static_cast<double>(in_flight));
}

}  // namespace volvox
