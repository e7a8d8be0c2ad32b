#include "batching/pins.h"

namespace volvox {

void Pins::move(std::uint32_t index, WorkerId worker) {
  LiveRequest& live = requests_[index];
  live.home = worker;
  live.last_seq = 0;
  const WorkerId to = place(live);
  if (live.is_graph) {
    for (const NodeGroup& group : live.graph.groups) {
      if (group.entry != kNoEntry) queues_.move(group.entry, to);
    }
    return;
  }
  for (const LaneRun& run : live.lanes) {
    if (run.entry != kNoEntry) queues_.move(run.entry, to);
  }
}

}  // namespace volvox
