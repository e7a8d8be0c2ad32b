#include <algorithm>
#include <vector>

#include "batching/policy/model_shares.h"
#include "batching/policy/policies.h"
#include "batching/policy/type_chooser.h"

namespace volvox {
namespace {

// docs/architecture.md: the highest class first; of the models that have something of it to run, the one that
// has had the least of the device; of its types, what its chooser says. Looks at what is ready and at nothing
// else, however many models there are.
class CellularPolicy final : public Policy {
 public:
  explicit CellularPolicy(const SchedulerConfig& config)
      : many_models_(config.models.size() > 1), shares_(config.models, config.workers) {
    note_types(config);
    for (const ModelConfig& model : config.models) make_chooser(config, model);
    for (const ModelId model : model_of_) {
      if (model != kNoModel && !has_chooser(model)) make_chooser(config, {.id = model});
    }
  }

  void on_model_added(const SchedulerConfig& config, ModelId added) override {
    many_models_ = config.models.size() > 1;
    note_types(config);
    for (const ModelConfig& model : config.models) {
      if (model.id != added) continue;
      shares_.add(model);
      make_chooser(config, model);
    }
  }

  void admit(WaitingList& waiting, const Frontier&, WorkerId) override {
    if (waiting.size() > 0) waiting.admit_in_order();
  }

  std::optional<Choice> choose(const Frontier& frontier, WorkerId worker, TimePoint now) override {
    wakeup_.reset();
    frontier.ready_types(worker, ready_);
    if (ready_.empty()) return std::nullopt;
    ChoiceMoment moment{frontier, worker, keep_top_class(), now, true};
    std::optional<Choice> choice = choose_among_models(moment);
    // Some would rather wait for company, but not while the worker would idle.
    if (choice || frontier.in_flight(worker) > 0) return choice;
    moment.may_wait = false;
    return choose_among_models(moment);
  }

  void on_submitted(WorkerId worker, CellTypeId type, std::uint32_t, double cost_us) override {
    const ModelId model = model_of_[type];
    choosers_[model]->on_submitted(worker, type);
    if (many_models_) shares_.charge(worker, model, cost_us);  // alone it has nobody to share with
  }

  std::optional<TimePoint> next_wakeup() const override { return wakeup_; }

 private:
  void note_types(const SchedulerConfig& config) {
    model_of_.clear();
    for (const TypeConfig& type : config.types) model_of_.push_back(type.model);
  }
  bool has_chooser(ModelId model) const { return model < choosers_.size() && choosers_[model] != nullptr; }
  void make_chooser(const SchedulerConfig& config, const ModelConfig& model) {
    if (model.id >= choosers_.size()) choosers_.resize(model.id + 1);
    std::vector<TypeConfig> types;
    std::copy_if(config.types.begin(), config.types.end(), std::back_inserter(types),
                 [&](const TypeConfig& type) { return type.model == model.id; });
    choosers_[model.id] =
        model.chooser != nullptr ? model.chooser->make(config, types) : make_algorithm1(config, types);
  }

  // Leaves in ready_ the types with rows of the highest class of which there are any.
  PriorityClass keep_top_class() {
    for (std::size_t c = 0; c < kPriorityClasses; ++c) {
      const auto has_none = [c](const ReadyType& type) { return type.by_class[c] == 0; };
      if (std::all_of(ready_.begin(), ready_.end(), has_none)) continue;
      std::erase_if(ready_, has_none);
      return static_cast<PriorityClass>(c);
    }
    return PriorityClass::kLow;
  }

  std::optional<Choice> choose_among_models(const ChoiceMoment& moment) {
    const auto by_model = [this](const ReadyType& a, const ReadyType& b) {
      return model_of_[a.type] < model_of_[b.type];
    };
    if (!std::is_sorted(ready_.begin(), ready_.end(), by_model)) {
      std::stable_sort(ready_.begin(), ready_.end(), by_model);
    }
    if (many_models_) shares_.begin_round(moment.frontier, moment.worker);
    std::optional<Choice> best;
    for (auto type = ready_.begin(); type != ready_.end();) {
      const ModelId model = model_of_[type->type];
      const auto end = std::find_if(type, ready_.end(),
                                    [&](const ReadyType& other) { return model_of_[other.type] != model; });
      const auto choice = choosers_[model]->choose({type, end}, moment);
      type = end;
      note_wakeup(choosers_[model]->next_wakeup());
      if (!choice) continue;
      if (many_models_) shares_.consider(model);
      if (!many_models_ || shares_.is_next(model)) best = choice;
    }
    if (many_models_) shares_.end_round();
    return best;
  }

  void note_wakeup(std::optional<TimePoint> at) {
    if (at && (!wakeup_ || *at < *wakeup_)) wakeup_ = at;
  }

  bool many_models_;
  ModelShares shares_;
  std::vector<ModelId> model_of_;                       // by type
  std::vector<std::unique_ptr<TypeChooser>> choosers_;  // by model
  std::vector<ReadyType> ready_;                        // scratch
  std::optional<TimePoint> wakeup_;
};

}  // namespace

std::unique_ptr<Policy> make_cellular_policy(const SchedulerConfig& config) {
  return std::make_unique<CellularPolicy>(config);
}

}  // namespace volvox
