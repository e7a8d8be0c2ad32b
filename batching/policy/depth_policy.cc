#include <algorithm>
#include <vector>

#include "batching/policy/merged_policy.h"
#include "batching/policy/policies.h"

namespace volvox {
namespace {

// What is ready when a level begins is the level: nodes that no more than the levels before had to precede.
// Later cells go first in it: what they make ready is of the next level, and would be taken for this one's if
// it were of a type that has still to run.
class DepthPolicy final : public MergedPolicy {
 public:
  DepthPolicy(const SchedulerConfig& config, std::uint32_t window)
      : MergedPolicy(config, window), left_(config.workers, Rows(config.types.size(), 0)) {}

  void on_model_added(const SchedulerConfig& config, ModelId) override {
    types_ = config.types;
    for (Rows& left : left_) left.resize(types_.size(), 0);
  }

  std::optional<Choice> choose(const Frontier& frontier, WorkerId worker, TimePoint) override {
    frontier.ready_types(worker, ready_);
    if (ready_.empty()) return std::nullopt;
    Rows& left = left_[worker];
    if (std::none_of(ready_.begin(), ready_.end(),
                     [&](const ReadyType& type) { return left[type.type] > 0; })) {
      std::fill(left.begin(), left.end(), 0);
      for (const ReadyType& type : ready_) left[type.type] = type.rows;
    }
    const TypeConfig* next = nullptr;
    for (const ReadyType& type : ready_) {
      const TypeConfig& here = types_[type.type];
      if (left[here.id] > 0 && (next == nullptr || here.priority > next->priority)) next = &here;
    }
    return Choice{next->id, std::min(left[next->id], next->max_batch)};
  }

  void on_submitted(WorkerId worker, CellTypeId type, std::uint32_t rows, double) override {
    std::uint32_t& left = left_[worker][type];
    left -= std::min(left, rows);
  }

 private:
  using Rows = std::vector<std::uint32_t>;  // by type

  void begin(WorkerId worker, std::span<const RequestId>, const WaitingList&) override {
    std::fill(left_[worker].begin(), left_[worker].end(), 0);
  }

  std::vector<Rows> left_;        // of the level, by worker
  std::vector<ReadyType> ready_;  // scratch
};

}  // namespace

std::unique_ptr<Policy> make_depth_policy(const SchedulerConfig& config, std::uint32_t window) {
  return std::make_unique<DepthPolicy>(config, window);
}

}  // namespace volvox
