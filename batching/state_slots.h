#pragma once

#include <cstdint>
#include <vector>

#include "batching/live_request.h"
#include "batching/range_allocator.h"
#include "batching/scheduler_config.h"
#include "batching/scheduler_stats.h"

namespace volvox {

// The slots of all pools: a request gets all that it needs when it enters, or does not enter, so what runs
// can always finish. Not thread-safe.
class StateSlots {
 public:
  explicit StateSlots(const std::vector<PoolConfig>& pools);

  // The pool is a model's that came; whoever had the number before is gone.
  void set(const PoolConfig& pool);
  std::uint32_t capacity(PoolId pool) const { return pools_[pool].slots.capacity(); }
  // Rows of the pool from here on are the callers' own (CarriedLane).
  std::uint32_t end(PoolId pool) const { return pools_[pool].end; }

  // Reserves what the request needs, and writes into its record where that lies; false, without effect, when
  // it does not fit. Lanes are padded to `pad_to` steps, by LaneSpec::length_of; 0: not padded.
  bool reserve(LiveRequest& live, const Lengths& pad_to);
  // The request, which reserved, entered / is over.
  void hold(const LiveRequest& live);
  void release(LiveRequest& live);
  // Whether what one model gives back may be what another waits for.
  bool are_shared() const { return shared_; }

  // Gives the node one of the slots that its graph reserved / takes it back: everybody has read it.
  void take(GraphRun& run, NodeRun& node) {
    Pool& pool = pools_[run.pool];
    ++run.live_slots;
    ++pool.used;
    if (run.first_free != kNoNode) {
      const NodeRun& before = run.nodes[run.first_free];
      node.slot = before.slot;
      run.first_free = before.next_free;
      return;
    }
    node.slot = pool.slots.take();
    node.took = true;
  }
  void free(GraphRun& run, std::uint32_t v) {
    NodeRun& node = run.nodes[v];
    node.next_free = run.first_free;
    run.first_free = v;
    --run.live_slots;
    --pools_[run.pool].used;
  }

  // Of all pools, in order.
  void describe(std::vector<SchedulerStats::PerPool>& stats) const;

 private:
  struct Pool {
    RangeAllocator slots;
    std::uint32_t end = 0;
    std::uint32_t used = 0;
    ModelId model = kNoModel;  // whose requests it holds
  };

  bool reserve_lanes(LiveRequest& live, const Lengths& pad_to);
  bool reserve_lane(LaneRun& run, const LaneSpec& spec, const CarriedLane* carried);
  void release_lane(const LaneRun& run, const LaneSpec& spec);
  bool reserve_graph(LiveRequest& live);
  void release_graph(LiveRequest& live);
  void note_model(PoolId pool, ModelId model);

  std::vector<Pool> pools_;
  bool shared_ = false;  // some pool by requests of several models
};

}  // namespace volvox
