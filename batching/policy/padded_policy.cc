#include <algorithm>
#include <vector>

#include "batching/policy/group_turns.h"
#include "batching/policy/policies.h"

namespace volvox {
namespace {

// Buckets by (model, length), visited in turn. A group runs alone on its worker; the next is let in when
// every node of it has been submitted, so that the device never waits between groups.
class PaddedPolicy final : public Policy {
 public:
  PaddedPolicy(const SchedulerConfig& config, const PaddedOptions& options)
      : types_(config.types), width_(std::max(1U, options.bucket_width)), turns_(options.max_batch) {}

  void on_model_added(const SchedulerConfig& config, ModelId) override { types_ = config.types; }

  bool watches_waiting() const override { return true; }
  void on_waiting(const WaitingRequest& request) override { turns_.add(bucket(request), request.id); }
  void on_left(const WaitingRequest& request) override { turns_.remove(bucket(request), request.id); }

  void admit(WaitingList& waiting, const Frontier& frontier, WorkerId worker) override {
    if (worker == kNoWorker || frontier.anything_ready(worker)) return;
    turns_.admit_next([&](GroupTurns::Group, const std::vector<RequestId>& ids) {
      return waiting.admit_group(ids, worker, longest(waiting, ids));
    });
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
  // To which lanes are padded: what the longest of their kind have, rounded up to a bucket's bound. What has
  // one step in all of them is no sequence.
  Lengths longest(const WaitingList& waiting, const std::vector<RequestId>& ids) const {
    Lengths longest{};
    for (RequestId id : ids) {
      const Lengths& lengths = waiting.look_at(id).lengths;
      for (std::size_t i = 0; i < longest.size(); ++i) longest[i] = std::max(longest[i], lengths[i]);
    }
    for (std::uint32_t& length : longest) {
      if (length > 1) length = (length + width_ - 1) / width_ * width_;
    }
    return longest;
  }

  GroupTurns::Group bucket(const WaitingRequest& request) const {
    return {request.model, (request.length - 1) / width_};
  }

  std::vector<TypeConfig> types_;
  std::uint32_t width_;
  GroupTurns turns_;
};

}  // namespace

std::unique_ptr<Policy> make_padded_policy(const SchedulerConfig& config, const PaddedOptions& options) {
  return std::make_unique<PaddedPolicy>(config, options);
}

}  // namespace volvox
