#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "cells/ir/lane_plan.h"
#include "cells/ir/node_graph.h"
#include "device/task.h"

namespace volvox {

using WorkerId = std::uint32_t;
inline constexpr WorkerId kNoWorker = ~WorkerId{0};
using LaneId = std::uint8_t;
using Step = std::uint32_t;

// A request as the scheduler knows it. Carries a generation: an id is never mistaken for a later request's.
struct RequestId {
  std::uint32_t index = ~std::uint32_t{0};
  std::uint32_t generation = 0;
  bool operator==(const RequestId&) const = default;
};

// Looked at before everything else: a higher class never waits for a lower one to run out.
enum class PriorityClass : std::uint8_t { kHigh = 0, kNormal = 1, kLow = 2 };
inline constexpr std::size_t kPriorityClasses = 3;

// A lane that goes on from a state which an earlier request left. Its first step reads the row `initial`
// where it would read the initial value, and its steps rotate through as many rows of the caller's as the
// lane has, base, base + step …, instead of rows that the scheduler reserves. All of them lie behind the
// pool's slots (PoolConfig), and `initial` is not among those that the lane writes. Nobody else may touch
// them before the request's last event; when it is done, the lane's state is in the row of its last step
// (slot_in_turn).
struct CarriedLane {
  LaneId lane = 0;
  std::uint32_t initial = kInitialSlot;
  std::uint32_t base = 0;
  std::int32_t step = 1;
};

// One unfolded request, ready to be batched: either the lengths of a model's lane plan, or a node graph.
struct Request {
  // What is asked of every request again and again lies together.
  std::uint64_t tag = 0;           // the caller's own number, given back in every event
  const LanePlan* plan = nullptr;  // must outlive the request; nullptr for a node graph
  ModelId model = 0;
  PriorityClass priority = PriorityClass::kNormal;
  bool inputs_landed = true;  // false: nothing runs before Scheduler::inputs_landed()
  bool report_steps = false;  // kStepDone also for lanes that push a row of an output at every step
  bool traced = false;        // TaskCompany says which tasks it came into, and left
  std::uint64_t client = 0;   // who shares the model fairly with other clients; 0: nobody is known
  TimePoint arrival{};
  TimePoint deadline = TimePoint::max();  // later, nobody wants its result
  Lengths lengths{};

  // Row r of input i is at inputs[i].address + r·stride; likewise outputs. A lane's last-step output is
  // written at outputs[i].address.
  std::array<PullSource, kMaxInputs> inputs{};
  std::array<PushTarget, kMaxOutputs> outputs{};

  std::vector<CarriedLane> carried;  // of the plan's lanes, each at most once; never padded
  std::shared_ptr<const NodeGraph> graph;
  std::uint32_t max_nodes = 0;  // a graph that may be extended: the most nodes it can ever have

  // Steps of its longest lane, or nodes of its graph.
  std::uint32_t length() const {
    if (graph != nullptr) return graph->size();
    std::uint32_t longest = 0;
    for (const LaneSpec& lane : plan->lanes) longest = std::max(longest, lengths[lane.length_of]);
    return longest;
  }
  // That it will run, at most, as far as is known.
  std::uint32_t cells() const {
    if (graph != nullptr) return graph->size();
    std::uint32_t sum = 0;
    for (const LaneSpec& lane : plan->lanes) sum += lengths[lane.length_of];
    return sum;
  }
  // nullptr when the lane begins anew.
  const CarriedLane* carried_of(std::size_t number) const {
    for (const CarriedLane& one : carried) {
      if (one.lane == number) return &one;
    }
    return nullptr;
  }
};

struct AdmitResult {
  enum class Kind : std::uint8_t { kAdmitted, kWaiting, kNeverFits, kFull };
  Kind kind = Kind::kWaiting;
  RequestId id;        // valid for kAdmitted and kWaiting
  std::string reason;  // for the others
};

// What complete(), fail(), cancel(), expire() and suspend() report.
struct Event {
  enum class Kind : std::uint8_t {
    kDone,       // every node ran; the results are written
    kFailed,     // a task with a row of it failed
    kCancelled,  // after cancel(): nothing on the device refers to it any more
    kExpired,    // likewise, after its deadline
    kStuck,      // after suspend(): it has failed, but its tasks have not ended; kFailed follows when they do
    kStepDone,   // steps of a reported lane are done, up to this one: {lane, step}
    kNodeDone,   // a watched node is done: {step = node}
  };
  Kind kind{};
  LaneId lane = 0;
  Step step = 0;
  RequestId id;
  std::uint64_t tag = 0;
  TimePoint first_submit{};  // when its first task was submitted; TimePoint{} if none was
};

}  // namespace volvox
