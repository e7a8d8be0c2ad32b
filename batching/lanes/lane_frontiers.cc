#include "batching/lanes/lane_frontiers.h"

namespace volvox {

void LaneFrontiers::add(const LiveRequest& live, const std::vector<TypeConfig>& types, std::uint32_t sign) {
  for (std::size_t i = 0; i < live.lanes.size(); ++i) {
    const LaneRun& run = live.lanes[i];
    if (run.state == LaneRun::State::kEnded) continue;
    const TypeConfig& type = types[live.request.plan->lanes[i].type];
    rows_[type.id] += sign * (type.independent ? run.run_length - run.cursor : 1);
  }
}

}  // namespace volvox
