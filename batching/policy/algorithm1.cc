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
    first_ = types.front().id;
    types_.resize(types.back().id - first_ + 1);
    for (const TypeConfig& type : types) types_[type.id - first_] = type;
  }

  std::optional<Choice> choose(std::span<const ReadyType> ready, const ChoiceMoment& moment) override {
    wakeup_.reset();
    Run& run = runs_[moment.worker];
    if (goes_on(run, ready)) return Choice{run.type, type(run.type).max_batch};
    const TypeConfig* best = nullptr;
    Rule best_rule = Rule::kAnything;
    for (const ReadyType& candidate : ready) {
      const TypeConfig& config = type(candidate.type);
      if (moment.may_wait && waits(config, candidate.rows, moment)) continue;
      const Rule found = rule(config, candidate.rows, moment);
      if (best == nullptr || found > best_rule || (found == best_rule && config.priority > best->priority)) {
        best = &config;
        best_rule = found;
      }
    }
    if (best == nullptr) return std::nullopt;
    run = {best->id, max_run_};
    return Choice{best->id, best->max_batch};
  }

  void on_submitted(WorkerId worker, CellTypeId type) override {
    Run& run = runs_[worker];
    if (run.type == type && run.left > 0) --run.left;
  }

  std::optional<TimePoint> next_wakeup() const override { return wakeup_; }

 private:
  struct Run {
    CellTypeId type = 0;
    std::uint32_t left = 0;
  };
  enum class Rule : std::uint8_t { kAnything, kNoneRunning, kFull };

  const TypeConfig& type(CellTypeId id) const { return types_[id - first_]; }

  bool goes_on(const Run& run, std::span<const ReadyType> ready) const {
    if (run.left == 0 || run.left == max_run_) return false;
    const auto is_its_type = [&](const ReadyType& one) { return one.type == run.type; };
    const auto found = std::find_if(ready.begin(), ready.end(), is_its_type);
    return found != ready.end() && found->rows >= type(run.type).min_batch;
  }

  bool waits(const TypeConfig& config, std::uint32_t rows, const ChoiceMoment& moment) {
    if (!config.lazy || rows >= config.preferred_batch) return false;
    const auto since = moment.frontier.waiting_since(config.id, moment.worker);
    if (!since || moment.now - *since >= config.linger) return false;
    if (!wakeup_ || *since + config.linger < *wakeup_) wakeup_ = *since + config.linger;
    return true;
  }

  Rule rule(const TypeConfig& config, std::uint32_t rows, const ChoiceMoment& moment) const {
    if (rows >= max_batch(config, worker_batches_, moment.worker)) return Rule::kFull;
    if (max_wait_ > Duration::zero()) {
      const auto since = moment.frontier.waiting_since(config.id, moment.worker);
      if (since && moment.now - *since >= max_wait_) return Rule::kFull;
    }
    return moment.frontier.running(config.id) == 0 ? Rule::kNoneRunning : Rule::kAnything;
  }

  CellTypeId first_ = 0;
  std::vector<TypeConfig> types_;  // by number, from first_ on
  const std::uint32_t max_run_;
  const Duration max_wait_;
  const std::vector<std::uint32_t> worker_batches_;
  std::vector<Run> runs_;
  std::optional<TimePoint> wakeup_;
};

}  // namespace

std::unique_ptr<TypeChooser> make_algorithm1(const SchedulerConfig& config,
                                             const std::vector<TypeConfig>& types) {
  return std::make_unique<Algorithm1>(config, types);
}

}  // namespace volvox
