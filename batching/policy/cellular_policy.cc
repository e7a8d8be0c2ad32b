#include <algorithm>
#include <vector>

#include "batching/policy/model_shares.h"
#include "batching/policy/policies.h"

namespace volvox {
namespace {

// DESIGN §3.3: priority class, then model by weighted device time, then Algorithm 1's rules (a), (b), (c),
// ties by the type's priority; a run of tasks of one type goes on while it finds min_batch nodes and no other
// model's turn has come.
class CellularPolicy final : public Policy {
 public:
  explicit CellularPolicy(const SchedulerConfig& config)
      : types_(config.types),
        many_models_(config.models.size() > 1),
        max_run_(config.max_tasks_to_submit),
        max_wait_(config.max_wait),
        worker_batches_(config.worker_batches),
        shares_(config.models, config.workers),
        runs_(config.workers) {}

  void on_model_added(const SchedulerConfig& config, ModelId added) override {
    types_ = config.types;
    many_models_ = config.models.size() > 1;
    for (const ModelConfig& model : config.models) {
      if (model.id == added) shares_.add(model);
    }
    for (Run& run : runs_) run.left = 0;
  }

  void admit(WaitingList& waiting, const Frontier&, WorkerId) override {
    if (waiting.size() > 0) waiting.admit_in_order();
  }

  std::optional<Choice> choose(const Frontier& frontier, WorkerId worker, TimePoint now) override {
    wakeup_.reset();
    const PriorityClass top = top_class(frontier, worker);
    if (goes_on(frontier, worker, top) &&
        (!many_models_ || is_due(runs_[worker].type, frontier, worker, top)))
      return Choice{runs_[worker].type, types_[runs_[worker].type].max_batch};
    const TypeConfig* best = best_type(frontier, worker, top, now, false);
    // Lazy types wait for company, but not while the worker would idle.
    if (best == nullptr) best = best_type(frontier, worker, top, now, frontier.in_flight(worker) == 0);
    if (best == nullptr) return std::nullopt;
    runs_[worker] = {best->id, max_run_};
    return Choice{best->id, best->max_batch};
  }

  void on_submitted(WorkerId worker, CellTypeId type, std::uint32_t, double cost_us) override {
    Run& run = runs_[worker];
    if (run.type == type && run.left > 0) --run.left;
    shares_.charge(worker, types_[type].model, cost_us);
  }

  std::optional<TimePoint> next_wakeup() const override { return wakeup_; }

 private:
  struct Run {
    CellTypeId type = 0;
    std::uint32_t left = 0;
  };
  enum class Rule : std::uint8_t { kAnything, kNoneRunning, kFull };

  PriorityClass top_class(const Frontier& frontier, WorkerId worker) const {
    for (std::size_t c = 0; c + 1 < kPriorityClasses; ++c) {
      for (const TypeConfig& type : types_) {
        if (frontier.ready(type.id, worker, PriorityClass(c)) > 0) return PriorityClass(c);
      }
    }
    return PriorityClass::kLow;
  }

  bool goes_on(const Frontier& frontier, WorkerId worker, PriorityClass top) const {
    const Run& run = runs_[worker];
    return run.left > 0 && run.left < max_run_ && frontier.ready(run.type, worker, top) > 0 &&
           frontier.ready(run.type, worker) >= types_[run.type].min_batch;
  }

  // Whether no other model with something to run has had less of the device.
  bool is_due(CellTypeId run, const Frontier& frontier, WorkerId worker, PriorityClass top) {
    shares_.begin_round(frontier);
    for (const TypeConfig& type : types_) {
      if (frontier.ready(type.id, worker, top) > 0) shares_.consider(type.model);
    }
    const bool due = shares_.is_next(types_[run].model);
    shares_.end_round();
    return due;
  }

  bool lazy_may_wait(const Frontier& frontier, const TypeConfig& type, WorkerId worker, TimePoint now) {
    if (!type.lazy || frontier.ready(type.id, worker) >= type.preferred_batch) return false;
    const auto since = frontier.waiting_since(type.id, worker);
    if (!since || now - *since >= type.linger) return false;
    if (!wakeup_ || *since + type.linger < *wakeup_) wakeup_ = *since + type.linger;
    return true;
  }

  Rule rule(const Frontier& frontier, const TypeConfig& type, WorkerId worker, TimePoint now) const {
    if (frontier.ready(type.id, worker) >= max_batch(type, worker_batches_, worker)) return Rule::kFull;
    if (max_wait_ > Duration::zero()) {
      const auto since = frontier.waiting_since(type.id, worker);
      if (since && now - *since >= max_wait_) return Rule::kFull;
    }
    return frontier.running(type.id) == 0 ? Rule::kNoneRunning : Rule::kAnything;
  }

  const TypeConfig* best_type(const Frontier& frontier, WorkerId worker, PriorityClass top, TimePoint now,
                              bool even_lazy) {
    shares_.begin_round(frontier);
    for (const TypeConfig& type : types_) {
      if (eligible(frontier, type, worker, top, now, even_lazy)) shares_.consider(type.model);
    }
    const TypeConfig* best = nullptr;
    Rule best_rule = Rule::kAnything;
    for (const TypeConfig& type : types_) {
      if (!eligible(frontier, type, worker, top, now, even_lazy) || !shares_.is_next(type.model)) continue;
      const Rule found = rule(frontier, type, worker, now);
      if (best == nullptr || found > best_rule || (found == best_rule && type.priority > best->priority)) {
        best = &type;
        best_rule = found;
      }
    }
    shares_.end_round();
    return best;
  }

  bool eligible(const Frontier& frontier, const TypeConfig& type, WorkerId worker, PriorityClass top,
                TimePoint now, bool even_lazy) {
    return frontier.ready(type.id, worker, top) > 0 &&
           (even_lazy || !lazy_may_wait(frontier, type, worker, now));
  }

  std::vector<TypeConfig> types_;
  bool many_models_;
  std::uint32_t max_run_;
  Duration max_wait_;
  std::vector<std::uint32_t> worker_batches_;
  ModelShares shares_;
  std::vector<Run> runs_;
  std::optional<TimePoint> wakeup_;
};

}  // namespace

std::unique_ptr<Policy> make_cellular_policy(const SchedulerConfig& config) {
  return std::make_unique<CellularPolicy>(config);
}

}  // namespace volvox
