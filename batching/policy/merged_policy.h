#pragma once

#include <span>
#include <vector>

#include "batching/policy/group_turns.h"
#include "batching/policy/policy.h"

namespace volvox {

// The graphs of so many whole requests of one model run on a worker as one graph, and the next ones when all
// of its nodes have been submitted: an idle worker takes whoever waits. In which order the nodes go is what
// its heirs decide. Models take turns.
class MergedPolicy : public Policy {
 public:
  bool watches_waiting() const final { return true; }
  void on_waiting(const WaitingRequest& request) final { turns_.add({request.model, 0}, request.id); }
  void on_left(const WaitingRequest& request) final { turns_.remove({request.model, 0}, request.id); }

  void admit(WaitingList& waiting, const Frontier& frontier, WorkerId worker) final {
    if (worker == kNoWorker || frontier.anything_ready(worker)) return;
    turns_.admit_next([&](GroupTurns::Group, const std::vector<RequestId>& ids) {
      const std::size_t entered = waiting.admit_group(ids, worker, {});
      if (entered > 0) begin(worker, std::span(ids).first(entered), waiting);
      return entered;
    });
  }

 protected:
  // `window`: the most requests that are merged.
  MergedPolicy(const SchedulerConfig& config, std::uint32_t window)
      : types_(config.types), workers_(config.workers), turns_(window) {}

  // These are in, and nothing else is on the worker.
  virtual void begin(WorkerId worker, std::span<const RequestId> requests, const WaitingList& list) = 0;

  std::vector<TypeConfig> types_;
  const std::uint32_t workers_;

 private:
  GroupTurns turns_;
};

}  // namespace volvox
