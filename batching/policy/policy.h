#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "batching/request.h"
#include "batching/scheduler_config.h"

namespace volvox {

// Rows of one type that could be in the next task of a worker.
struct ReadyType {
  CellTypeId type = 0;
  std::uint32_t rows = 0;  // of all classes
  std::array<std::uint32_t, kPriorityClasses> by_class{};
};

// What is ready for one worker: counts, kept incrementally by the scheduler. Asking costs O(1), and O(types
// that are ready) where all of them are asked for.
class Frontier {
 public:
  virtual ~Frontier() = default;
  // Nodes of the type that could be in the next task of this worker; of the class only, or of all classes.
  virtual std::uint32_t ready(CellTypeId type, WorkerId worker) const = 0;
  virtual std::uint32_t ready(CellTypeId type, WorkerId worker, PriorityClass priority) const = 0;
  // The types of which anything is ready, in the order of their numbers; `types` is cleared before.
  virtual void ready_types(WorkerId worker, std::vector<ReadyType>& types) const = 0;
  // Tasks of the type in flight on any worker.
  virtual std::uint32_t running(CellTypeId type) const = 0;
  // Nodes of the type that would be ready on all workers together if no other type had to run before; 0 where
  // that is not known, as for the nodes of graphs.
  virtual std::uint32_t ready_alone(CellTypeId type) const = 0;
  // All requests of the model that have entered came with no task of the model between, and nobody follows
  // their steps: who waits for whom makes no difference to fairness, and none of them is late.
  virtual bool came_together(ModelId model) const = 0;
  // Since when the oldest ready node of the type has waited for this worker; nothing when none is ready.
  virtual std::optional<TimePoint> waiting_since(CellTypeId type, WorkerId worker) const = 0;
  // Tasks in flight on the worker.
  virtual std::uint32_t in_flight(WorkerId worker) const = 0;
  virtual bool anything_ready(WorkerId worker) const = 0;
};

// A request that waits for admission, in arrival order.
struct WaitingRequest {
  RequestId id;
  ModelId model = 0;
  PriorityClass priority = PriorityClass::kNormal;
  std::uint32_t length = 0;  // steps of its longest lane, or nodes of its graph
  TimePoint arrival{};
};

// Requests that wait for admission. The policy walks them and lets some in.
class WaitingList {
 public:
  virtual ~WaitingList() = default;
  virtual std::size_t size() const = 0;
  // Tries to admit the oldest waiting requests of each model that fit, with bounded overtaking. Returns how
  // many entered.
  virtual std::size_t admit_in_order() = 0;
  // Admits these requests together, to run on `worker` only, each lane padded to so many steps (by
  // LaneSpec::length_of; 0: not padded). Stops at the first that does not fit and returns how many entered;
  // where nothing else runs, the first is not padded if it does not fit otherwise.
  virtual std::size_t admit_group(const std::vector<RequestId>& ids, WorkerId worker,
                                  const Lengths& pad_to) = 0;
  // One that waits, or has entered during this call; until it ends.
  virtual const Request& look_at(RequestId id) const = 0;
};

struct Choice {
  CellTypeId type = 0;
  std::uint32_t rows = 0;  // at most so many
};

// Decides what runs next. The scheduler owns slots, pins and readiness, so no policy can break an invariant.
// Called by the scheduler only, on its thread.
class Policy {
 public:
  virtual ~Policy() = default;
  // The model has come; `config` holds all that there are now. Its number, and those of its types, may have
  // been another's before. Types of kNoModel are nobody's, and never ready.
  virtual void on_model_added(const SchedulerConfig& config, ModelId added) = 0;
  // Whether it is told who waits. Always the same: a request costs less where nobody asks.
  virtual bool watches_waiting() const { return false; }
  // A request began to wait / waits no longer (it entered, or was cancelled).
  virtual void on_waiting(const WaitingRequest&) {}
  virtual void on_left(const WaitingRequest&) {}
  // Lets waiting requests in: before tasks are chosen for a worker, and, with kNoWorker, when a request
  // arrived or slots came back.
  virtual void admit(WaitingList& waiting, const Frontier& frontier, WorkerId worker) = 0;
  // The next task for the worker, or nothing. A choice of a type that has nothing ready is ignored.
  virtual std::optional<Choice> choose(const Frontier& frontier, WorkerId worker, TimePoint now) = 0;
  // A task of the choice was formed, with so many rows and this estimated cost.
  virtual void on_submitted(WorkerId worker, CellTypeId type, std::uint32_t rows, double cost_us) = 0;
  // When choose() may answer differently although nothing else happens.
  virtual std::optional<TimePoint> next_wakeup() const { return std::nullopt; }
};

}  // namespace volvox
