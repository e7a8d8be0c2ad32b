#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "batching/policy/policy.h"
#include "batching/scheduler_config.h"

namespace volvox {

// Device time that each model has had, weighted: the busy model with the least goes next, so that none
// starves another (fair queueing by measured cost). A model that was idle does not save up time: it comes
// back level with where the others were when the task was submitted that runs now on the worker which asks.
// What they have put ahead since then stands before it in the queue, and so is made good to it. Pure; not
// thread-safe.
class ModelShares {
 public:
  ModelShares(const std::vector<ModelConfig>& models, std::uint32_t workers) : ahead_(workers) {
    for (const ModelConfig& model : models) at(model.id).weight = model.weight;
  }

  // Whoever had the number before, the model starts level with the others.
  void add(const ModelConfig& model) {
    at(model.id) = {};
    at(model.id).weight = model.weight;
    at(model.id).used = floor_;
    least_ = nullptr;  // the shares may have moved
  }

  // For a task of the worker: what another one's queue, which may hang, has ahead stands before nobody here.
  void begin_round(const Frontier& frontier, WorkerId worker) {
    least_ = nullptr;
    std::vector<double>& ahead = ahead_[worker];
    const std::size_t done = ahead.size() - std::min<std::size_t>(ahead.size(), frontier.in_flight(worker));
    ahead.erase(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(done));
    level_ = ahead.empty() ? floor_ : std::min(floor_, ahead.front());
  }
  // The model has something to run: it takes part in this round.
  void consider(ModelId model) {
    Share& share = at(model);
    if (share.round != round_) {
      if (share.round + 1 != round_) share.used = std::max(share.used, level_);
      share.round = round_;
    }
    if (least_ == nullptr || share.used < least_->used) least_ = &share;
  }
  bool is_next(ModelId model) { return &at(model) == least_; }
  void end_round() {
    if (least_ != nullptr) floor_ = std::max(floor_, least_->used);
    ++round_;
  }

  // The worker was given a task of the model.
  void charge(WorkerId worker, ModelId model, double cost_us) {
    ahead_[worker].push_back(floor_);
    at(model).used += cost_us / at(model).weight;
  }

 private:
  struct Share {
    double weight = 1.0, used = 0.0;
    std::uint64_t round = 0;
  };
  Share& at(ModelId model) {
    if (model >= shares_.size()) shares_.resize(model + 1);
    return shares_[model];
  }

  std::vector<Share> shares_;
  std::vector<std::vector<double>> ahead_;  // by worker: the floor when each task in flight was submitted
  Share* least_ = nullptr;
  double floor_ = 0;  // what the model that went last had had
  double level_ = 0;  // the same for the task that runs now
  std::uint64_t round_ = 1;
};

}  // namespace volvox
