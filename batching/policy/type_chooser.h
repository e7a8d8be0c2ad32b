#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "batching/policy/policy.h"

namespace volvox {

// The moment at which a type is chosen.
struct ChoiceMoment {
  const Frontier& frontier;
  WorkerId worker = 0;
  PriorityClass top = PriorityClass::kNormal;  // the highest class of which anything is ready
  TimePoint now{};
  bool may_wait = true;  // false: the worker would be idle
};

// Which type of one model runs next, when it is the model's turn. Each model has a chooser of its own in each
// scheduler, so it may count and remember. Called by the scheduler only, on its thread.
class TypeChooser {
 public:
  virtual ~TypeChooser() = default;
  // `ready`: the model's types with rows of the class moment.top, at least one. Nothing: it would rather
  // wait, which it may only if moment.may_wait. What is chosen need not run: another model's turn may have
  // come.
  virtual std::optional<Choice> choose(std::span<const ReadyType> ready, const ChoiceMoment& moment) = 0;
  // A task of the model was formed, of this type.
  virtual void on_submitted(WorkerId, CellTypeId) {}
  // When choose(), which waited, would answer differently although nothing else happens.
  virtual std::optional<TimePoint> next_wakeup() const { return std::nullopt; }
};

// Makes a model's choosers. What a chooser has learned of its model before comes in here. Immutable; any
// thread.
class TypeChooserMaker {
 public:
  virtual ~TypeChooserMaker() = default;
  // `types`: the model's, in the order of their numbers.
  virtual std::unique_ptr<TypeChooser> make(const SchedulerConfig& config,
                                            const std::vector<TypeConfig>& types) const = 0;
};

// Algorithm 1 of BatchMaker (§4.3): a type with a full batch; else one of which nothing runs; else any; among
// equals the one of the highest priority. A run of tasks of one type goes on while it finds min_batch rows.
// Lazy types wait for company.
std::unique_ptr<TypeChooser> make_algorithm1(const SchedulerConfig& config,
                                             const std::vector<TypeConfig>& types);

}  // namespace volvox
