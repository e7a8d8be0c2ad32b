#pragma once

#include <vector>

#include "actors/admin/router_admin.h"
#include "monitoring/metrics/cluster_metrics.h"
#include "protocol/cluster/cluster_messages.h"
#include "routing/router.h"

namespace volvox {

// What the cluster router says of its members: to the log and the metrics when something happens to one, and
// to the operator who asks.
void log_member(const MemberEvent& event, ClusterMetrics& metrics);
MemberView view_of(const Router& router, NodeId node, const std::vector<ClusterOffer>& offers);

}  // namespace volvox
