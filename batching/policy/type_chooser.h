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

// By how many tasks of its model on a worker a type that is ready is passed over before it is overdue.
inline constexpr std::uint32_t kMostPassedOver = 16;

// Algorithm 1 of BatchMaker (§4.3): a type with a full batch, of the highest priority; else one of which
// nothing runs; else any. Among equals the one that was passed over by the most tasks, and only then the one
// of the highest priority: types that need each other's results, as both directions of a reader do, advance
// together (the paper's order, priority alone, lets one of them wait until the other runs short). With a
// min_batch above 1 a type goes on while it finds so many rows, for max_tasks_to_submit tasks at most. Lazy
// types wait for company.
//
// Requests that came together want few batches, as none of them is late: what runs elsewhere does not matter
// then, and between types that are not full the one goes first of which the largest share is ready of what
// could be ready (ED-Batch, equation 1: what is ready entirely need not wait, what is ready in part has the
// rest to gain). Of graphs that is not known: the type with the most rows goes first, and last one whose
// cells nobody reads, such as labels, since nothing waits for them.
//
// No type starves: one that is ready and was passed over by kMostPassedOver tasks of its model on the worker
// is overdue and goes before all others, the longest overdue first. So it is passed over by at most
// kMostPassedOver tasks and one for each other type of the model.
std::unique_ptr<TypeChooser> make_algorithm1(const SchedulerConfig& config,
                                             const std::vector<TypeConfig>& types);

}  // namespace volvox
