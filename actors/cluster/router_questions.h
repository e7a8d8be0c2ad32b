#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/work/work.h"
#include "protocol/cluster/cluster_messages.h"
#include "routing/router.h"
#include "routing/typical_costs.h"

namespace volvox {

inline ClusterAttempt on_wire(const AttemptId& id) {
  return {id.index, id.generation, id.number};
}
inline AttemptId from_wire(const ClusterAttempt& attempt) {
  return {attempt.index, attempt.generation, attempt.number};
}

// Whether the node belongs to this cluster, and speaks a version that this process does.
Status check_join(const ClusterJoin& join, const std::string& cluster);

// What the Router decides about, from what clients and nodes sent. The request lives as long as what is said
// of it. `bytes`: of its body as a node gets it.
RequestInfo request_info(const IncomingRequest& request, std::uint64_t bytes);
std::vector<ModelOffer> model_offers(std::span<const ClusterOffer> offers, TypicalCosts& costs);
// Costs and waits are of the node's offers, by number; those of another list than this one are left out.
LoadReport load_report(const ClusterReport& said, std::uint32_t list, std::span<const ClusterOffer> offers,
                       TypicalCosts& costs);

}  // namespace volvox
