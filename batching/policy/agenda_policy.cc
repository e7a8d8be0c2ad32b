#include <algorithm>
#include <vector>

#include "batching/policy/merged_policy.h"
#include "batching/policy/policies.h"
#include "batching/policy/request_depths.h"

namespace volvox {
namespace {

// The nodes of one type that have not run, by their depth.
class NodesLeft {
 public:
  void clear() {
    by_depth_.clear();
    least_ = 0;
    nodes_ = depth_sum_ = 0;
  }
  void add(std::uint32_t depth) {
    if (depth >= by_depth_.size()) by_depth_.resize(depth + 1, 0);
    ++by_depth_[depth];
    ++nodes_;
    depth_sum_ += depth;
  }
  // So many have run: those that lay least deep.
  void take(std::uint32_t rows) {
    for (; rows > 0 && least_ < by_depth_.size(); ++least_) {
      const std::uint32_t here = std::min(rows, by_depth_[least_]);
      by_depth_[least_] -= here;
      rows -= here;
      nodes_ -= here;
      depth_sum_ -= std::uint64_t{here} * least_;
      if (by_depth_[least_] > 0) return;
    }
  }
  double mean_depth() const {
    return nodes_ == 0 ? 0 : static_cast<double>(depth_sum_) / static_cast<double>(nodes_);
  }

 private:
  std::vector<std::uint32_t> by_depth_;
  std::size_t least_ = 0;  // of which any are left
  std::uint64_t nodes_ = 0, depth_sum_ = 0;
};

class AgendaPolicy final : public MergedPolicy {
 public:
  AgendaPolicy(const SchedulerConfig& config, std::uint32_t window)
      : MergedPolicy(config, window), left_(config.workers, ByType(config.types.size())) {}

  void on_model_added(const SchedulerConfig& config, ModelId) override {
    types_ = config.types;
    for (ByType& left : left_) left.resize(types_.size());
  }

  std::optional<Choice> choose(const Frontier& frontier, WorkerId worker, TimePoint) override {
    frontier.ready_types(worker, ready_);
    if (ready_.empty()) return std::nullopt;
    const auto next = std::min_element(ready_.begin(), ready_.end(),
                                       [&left = left_[worker]](const ReadyType& a, const ReadyType& b) {
                                         return left[a.type].mean_depth() < left[b.type].mean_depth();
                                       });
    return Choice{next->type, types_[next->type].max_batch};
  }

  void on_submitted(WorkerId worker, CellTypeId type, std::uint32_t rows, double) override {
    left_[worker][type].take(rows);
  }

 private:
  using ByType = std::vector<NodesLeft>;

  void begin(WorkerId worker, std::span<const RequestId> requests, const WaitingList& list) override {
    ByType& left = left_[worker];
    for (NodesLeft& type : left) type.clear();
    for (const RequestId request : requests) {
      request_depths(list.look_at(request), depths_);
      for (const NodeDepth& node : depths_) left[node.type].add(node.depth);
    }
  }

  std::vector<ByType> left_;      // by worker
  std::vector<ReadyType> ready_;  // scratch
  std::vector<NodeDepth> depths_;
};

}  // namespace

std::unique_ptr<Policy> make_agenda_policy(const SchedulerConfig& config, std::uint32_t window) {
  return std::make_unique<AgendaPolicy>(config, window);
}

}  // namespace volvox
