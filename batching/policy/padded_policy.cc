#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "batching/policy/policies.h"

namespace volvox {
namespace {

// Buckets by (model, length), visited in turn. A group runs alone on its worker; the next is let in when
// every node of it has been submitted, so that the device never waits between groups.
class PaddedPolicy final : public Policy {
 public:
  PaddedPolicy(const SchedulerConfig& config, const PaddedOptions& options)
      : types_(config.types),
        width_(std::max(1U, options.bucket_width)),
        max_batch_(std::max(1U, options.max_batch)) {}

  void on_model_added(const SchedulerConfig& config, ModelId) override { types_ = config.types; }

  bool watches_waiting() const override { return true; }
  void on_waiting(const WaitingRequest& request) override { buckets_[bucket(request)].push_back(request.id); }

  void on_left(const WaitingRequest& request) override {
    auto it = buckets_.find(bucket(request));
    if (it == buckets_.end()) return;
    auto& ids = it->second;
    ids.erase(std::find(ids.begin(), ids.end(), request.id));
    if (ids.empty()) buckets_.erase(it);
  }

  void admit(WaitingList& waiting, const Frontier& frontier, WorkerId worker) override {
    if (worker == kNoWorker || frontier.anything_ready(worker)) return;
    // A model without free memory must not keep the worker from the others.
    std::size_t entered = 0;
    for (std::size_t looks = buckets_.size(); looks > 0 && entered == 0; --looks)
      entered = admit_next_bucket(waiting, worker);
  }

  // Earlier cells first: what a group can compute ahead is computed for all its requests, so that they take
  // each later step together.
  std::optional<Choice> choose(const Frontier& frontier, WorkerId worker, TimePoint) override {
    const TypeConfig* best = nullptr;
    for (const TypeConfig& type : types_) {
      if (frontier.ready(type.id, worker) == 0) continue;
      if (best == nullptr || type.priority < best->priority) best = &type;
    }
    if (best == nullptr) return std::nullopt;
    return Choice{best->id, best->max_batch};
  }

  void on_submitted(WorkerId, CellTypeId, std::uint32_t, double) override {}

 private:
  using Bucket = std::pair<ModelId, std::uint32_t>;

  Bucket bucket(const WaitingRequest& request) const {
    return {request.model, (request.length - 1) / width_};
  }

  // Returns how many entered.
  std::size_t admit_next_bucket(WaitingList& waiting, WorkerId worker) {
    auto turn = buckets_.upper_bound(last_);
    if (turn == buckets_.end()) turn = buckets_.begin();
    const Bucket key = turn->first;
    const auto& ids = turn->second;
    group_.assign(ids.begin(),
                  ids.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(ids.size(), max_batch_)));
    last_ = key;
    return waiting.admit_group(group_, worker, (key.second + 1) * width_);
  }

  std::vector<TypeConfig> types_;
  std::uint32_t width_, max_batch_;
  std::map<Bucket, std::deque<RequestId>> buckets_;
  Bucket last_{0, 0};
  std::vector<RequestId> group_;
};

}  // namespace

std::unique_ptr<Policy> make_padded_policy(const SchedulerConfig& config, const PaddedOptions& options) {
  return std::make_unique<PaddedPolicy>(config, options);
}

}  // namespace volvox
