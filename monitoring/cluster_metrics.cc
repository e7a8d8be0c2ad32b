#include "monitoring/cluster_metrics.h"

#include "monitoring/single_metrics.h"

namespace volvox {

ClusterMetrics::ClusterMetrics(prometheus::Registry& registry)
    : members_(single_gauge(registry, "volvox_cluster_members", "Nodes that this router has as members.")),
      in_flight_(single_gauge(registry, "volvox_cluster_requests_in_flight", "Requests that are on nodes.")),
      joins_(single_counter(registry, "volvox_cluster_joins_total", "Nodes that joined.")),
      refused_(single_counter(registry, "volvox_cluster_joins_refused_total",
                              "Joins that were refused: another cluster, version or process.")),
      suspicions_(single_counter(registry, "volvox_cluster_suspicions_total", "Nodes that grew silent.")),
      deaths_(single_counter(registry, "volvox_cluster_deaths_total", "Nodes that were taken for dead.")),
      retries_(single_counter(registry, "volvox_cluster_retries_total",
                              "Requests that were tried on another node.")),
      late_(single_counter(registry, "volvox_cluster_late_answers_total",
                           "Answers that were dropped: the request was tried elsewhere, or is over.")),
      conflicts_(single_counter(registry, "volvox_cluster_digest_conflicts_total",
                                "Models that a node offers with other weights than the rest.")),
      undecided_(single_counter(registry, "volvox_cluster_undecided_parts_total",
                                "Parts of sessions of which nobody knew whether they were done.")),
      connections_refused_(single_counter(registry, "volvox_cluster_connections_refused_total",
                                          "Connections that did not get through the TLS handshake.")),
      dials_failed_(single_counter(registry, "volvox_cluster_dials_failed_total",
                                   "Attempts of a node to reach a router that failed.")),
      newcomers_dropped_(single_counter(registry, "volvox_cluster_newcomers_dropped_total",
                                        "Peers that were forgotten as they did not join in time.")),
      queued_bytes_(
          single_gauge(registry, "volvox_cluster_queued_bytes", "Bytes that wait on links to be sent.")) {}

void ClusterMetrics::set_members(std::size_t members, std::size_t in_flight) {
  members_.Set(static_cast<double>(members));
  in_flight_.Set(static_cast<double>(in_flight));
}

}  // namespace volvox
