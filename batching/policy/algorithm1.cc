#include <algorithm>

#include "batching/policy/type_chooser.h"

namespace volvox {
namespace {

class Algorithm1 final : public TypeChooser {
 public:
  Algorithm1(const SchedulerConfig& config, const std::vector<TypeConfig>& types)
      : max_run_(config.max_tasks_to_submit),
        max_wait_(config.max_wait),
        worker_batches_(config.worker_batches),
        runs_(config.workers) {
    if (types.empty()) return;
    model_ = types.front().model;
    first_ = types.front().id;
    types_.resize(types.back().id - first_ + 1);
    for (const TypeConfig& type : types) types_[type.id - first_] = type;
    passed_over_.resize(types_.size() * config.workers, 0);
  }

  std::optional<Choice> choose(std::span<const ReadyType> ready, const ChoiceMoment& moment) override {
    wakeup_.reset();
    rivals_.clear();
    if (ready.size() == 1 && !type(ready[0].type).lazy) return take(ready[0].type, moment.worker);
    for (const ReadyType& one : ready) {
      if (!moment.may_wait || !waits(type(one.type), one.rows, moment)) rivals_.push_back(one);
    }
    if (rivals_.empty()) return std::nullopt;
    if (goes_on(moment.worker))
      return Choice{runs_[moment.worker].type, type(runs_[moment.worker].type).max_batch};
    const bool together = moment.frontier.came_together(model_);
    const bool by_share = together && know_shares(moment.frontier);
    Standing best;
    for (const ReadyType& rival : rivals_) {
      const Standing standing = stand(rival, moment, together, by_share);
      if (best.type == nullptr || goes_before(standing, best)) best = standing;
    }
    return take(best.type->id, moment.worker);
  }

  void on_submitted(WorkerId worker, CellTypeId type) override {
    Run& run = runs_[worker];
    if (run.type == type && run.left > 0) --run.left;
    for (const ReadyType& rival : rivals_) ++passed_over(rival.type, worker);
    passed_over(type, worker) = 0;
  }

  std::optional<TimePoint> next_wakeup() const override { return wakeup_; }

 private:
  struct Run {
    CellTypeId type = 0;
    std::uint32_t left = 0;
  };
  enum class Rule : std::uint8_t { kAnything, kNoneRunning, kFull, kOverdue };
  struct Standing {
    const TypeConfig* type = nullptr;
    Rule rule = Rule::kAnything;
    bool is_read = true;                // or that does not count
    std::uint32_t rows = 1, alone = 1;  // what is ready, and of how many; equal where that does not count
    std::uint32_t passed_over = 0;
  };

  const TypeConfig& type(CellTypeId id) const { return types_[id - first_]; }
  // By how many tasks of the model on the worker, since it ran there last, a type that was ready.
  std::uint32_t& passed_over(CellTypeId id, WorkerId worker) {
    return passed_over_[worker * types_.size() + (id - first_)];
  }

  Choice take(CellTypeId id, WorkerId worker) {
    if (const Run& run = runs_[worker]; run.type != id || run.left == 0) runs_[worker] = {id, max_run_};
    return {id, type(id).max_batch};
  }

  bool goes_on(WorkerId worker) {
    const Run& run = runs_[worker];
    if (run.left == 0 || run.left == max_run_) return false;
    bool found = false;
    for (const ReadyType& rival : rivals_) {
      if (passed_over(rival.type, worker) >= kMostPassedOver) return false;
      const std::uint32_t least = type(rival.type).min_batch;
      found |= rival.type == run.type && least > 1 && rival.rows >= least;
    }
    return found;
  }

  bool waits(const TypeConfig& config, std::uint32_t rows, const ChoiceMoment& moment) {
    if (!config.lazy || rows >= config.preferred_batch) return false;
    const auto since = moment.frontier.waiting_since(config.id, moment.worker);
    if (!since || moment.now - *since >= config.linger) return false;
    if (!wakeup_ || *since + config.linger < *wakeup_) wakeup_ = *since + config.linger;
    return true;
  }

  // Whether the share of what could be ready is known of all.
  bool know_shares(const Frontier& frontier) const {
    return std::all_of(rivals_.begin(), rivals_.end(),
                       [&](const ReadyType& rival) { return frontier.ready_alone(rival.type) > 0; });
  }

  Standing stand(const ReadyType& rival, const ChoiceMoment& moment, bool together, bool by_share) {
    Standing standing{.type = &type(rival.type), .passed_over = passed_over(rival.type, moment.worker)};
    standing.rule = rule(*standing.type, rival.rows, moment);
    if (standing.passed_over >= kMostPassedOver) standing.rule = Rule::kOverdue;
    if (!together) return standing;
    if (standing.rule == Rule::kNoneRunning) standing.rule = Rule::kAnything;
    standing.rows = rival.rows;
    standing.is_read = by_share || standing.type->is_read;
    if (!by_share) return standing;
    standing.alone = moment.frontier.ready_alone(rival.type);
    standing.rows = std::min(standing.rows, standing.alone);
    return standing;
  }

  static bool goes_before(const Standing& a, const Standing& b) {
    if (a.rule != b.rule) return a.rule > b.rule;
    const bool by_rank = a.rule == Rule::kFull && a.type->priority != b.type->priority;
    if (by_rank) return a.type->priority > b.type->priority;
    if (a.rule == Rule::kAnything) {
      if (a.is_read != b.is_read) return a.is_read;
      const std::uint64_t share = std::uint64_t{a.rows} * b.alone, other = std::uint64_t{b.rows} * a.alone;
      if (share != other) return share > other;
    }
    if (a.passed_over != b.passed_over) return a.passed_over > b.passed_over;
    return a.type->priority > b.type->priority;
  }

  Rule rule(const TypeConfig& config, std::uint32_t rows, const ChoiceMoment& moment) const {
    if (rows >= max_batch(config, worker_batches_, moment.worker)) return Rule::kFull;
    if (max_wait_ > Duration::zero()) {
      const auto since = moment.frontier.waiting_since(config.id, moment.worker);
      if (since && moment.now - *since >= max_wait_) return Rule::kFull;
    }
    return moment.frontier.running(config.id) == 0 ? Rule::kNoneRunning : Rule::kAnything;
  }

  ModelId model_ = kNoModel;
  CellTypeId first_ = 0;
  std::vector<TypeConfig> types_;  // by number, from first_ on
  const std::uint32_t max_run_;
  const Duration max_wait_;
  const std::vector<std::uint32_t> worker_batches_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> passed_over_;  // by worker and type
  std::vector<ReadyType> rivals_;           // of the last choice; none where there was nothing to choose
  std::optional<TimePoint> wakeup_;
};

}  // namespace

std::unique_ptr<TypeChooser> make_algorithm1(const SchedulerConfig& config,
                                             const std::vector<TypeConfig>& types) {
  return std::make_unique<Algorithm1>(config, types);
}

}  // namespace volvox
