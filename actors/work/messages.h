#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/work/answer_group.h"
#include "actors/work/work.h"
#include "device/device.h"
#include "device/task.h"
#include "monitoring/metrics/engine_snapshot.h"
#include "routing/sessions/session.h"

namespace volvox {

// What the actors of one process say to each other. The payloads are shared_ptrs and never leave the process;
// each message is for one request or for a group of tasks, never for a cell.

// door → runner (the manager, the reader of large bodies before it, or the router of a cluster): run it.
struct RunWork {
  WorkPtr work;
};
// door → runner: parts that came together; each as by RunWork.
struct RunWorks {
  std::shared_ptr<const std::vector<WorkPtr>> works;
};
// a work that went astray on this device → manager: its successor, to be run on another.
struct RerunWork {
  WorkPtr work;
  std::uint32_t lost_on = 0;  // the device's number
};
// door or manager → scheduler: checked, unfolded, staged.
struct AdmitWork {
  WorkPtr work;
};
// request actor → runner → scheduler: nobody waits for it any more. Follows its RunWork or AdmitWork; only a
// deadline may be over while a door still looks at the request, and deadlines a scheduler knows itself.
struct CancelWork {
  std::uint64_t key = 0;
  ErrorCode why = ErrorCode::kCancelled;  // or DEADLINE_EXCEEDED
};
// The same of parts of sessions that were found ready together.
struct AdmitWorks {
  std::shared_ptr<const std::vector<WorkPtr>> works;
};
// request actor → runner: as CancelWork, of many.
struct CancelWorks {
  std::shared_ptr<const std::vector<std::uint64_t>> keys;
  ErrorCode why = ErrorCode::kCancelled;
};
// scheduler → manager: these ended; a group.
struct FinishedWorks {
  std::shared_ptr<std::vector<WorkPtr>> works;
};
// scheduler → manager: steps of these are done, up to these ones; a group. Only of streamed requests.
struct Stepped {
  struct Lane {
    WorkPtr work;
    std::uint8_t lane = 0;
    std::uint32_t steps = 0;  // done so far
  };
  std::shared_ptr<std::vector<Lane>> lanes;
};
// manager → request actor: a part of the answer.
struct PartialResult {
  std::uint32_t index = 0;
  OutcomePtr part;
};
// whoever held it last → manager: a part of this session will not be finished.
struct PartLost {
  SessionRef session;
};
// scheduler → manager: the task of a part of this session does not end. Its session waits for it, its askers
// need not.
struct PartStuck {
  SessionRef session;
};
// anybody → request actor: how it ended. The first one counts.
struct FinishRequest {
  Outcome outcome;
};

// AnswerGroup → the actor of its parts: answers lie there.
struct AnswersReady {
  AnswerGroupPtr group;
};
// gateway → request actor: this client asks to cancel its requests with so many ids from this one on.
struct CancelIds {
  std::shared_ptr<const ClientId> client;
  std::uint64_t first = 0;
  std::uint32_t count = 1;
};
// gateway → request actor: the client is gone; or it is silent, and may only sleep.
struct ClientLost {
  std::shared_ptr<const ClientId> client;
  bool silent = false;
};

// Tasks of one worker, in order. Whoever holds the group owns them.
using TaskGroup = std::shared_ptr<std::vector<BatchedTask>>;

// What a queue has spent so far.
struct QueueTimes {
  std::uint64_t kernel_ns = 0, cpu_kernel_ns = 0;
};
// scheduler → worker: submit these. The epoch counts the failures that the scheduler knows of.
struct SubmitTasks {
  TaskGroup tasks;
  std::uint32_t epoch = 0;
};
enum class TaskEnd : std::uint8_t {
  kDone,
  kFailed,   // the first of them failed, and with it all that the worker was given before it said so
  kDropped,  // given to the worker before it said so, and never submitted
};
// worker → scheduler: how these ended, in order.
struct TasksEnded {
  WorkerId worker = 0;
  TaskEnd how{};
  TaskGroup tasks;
  QueueTimes times;
  Error error;             // with kFailed
  TaskSeq first_failed{};  // likewise; there may be no task to go with it
  // When each ran that is done; none, where the queue cannot tell; nothing, where nobody wanted to know.
  std::optional<std::vector<TaskTimes>> ran;
};

// monitoring → scheduler: fill in what you do now.
struct SnapshotQuery {
  std::shared_ptr<std::promise<EngineSnapshot>> answer;
};

// supervisor → scheduler: this one takes part from now on.
struct UseManager {
  caf::actor manager;
};
struct UseWorkers {
  std::shared_ptr<const std::vector<caf::actor>> workers;
};
// model host → scheduler: there is this model now. A scheduler that does not hear of it learns it with the
// first request.
struct UseModel {
  ModelPtr model;
};
// model host → scheduler: nobody holds this model any more. The scheduler holds the token until it knows the
// model no longer; one that fails knows nothing.
struct ForgetModel {
  ModelId id = 0;
  std::uint64_t serial = 0;
  std::shared_ptr<const void> known;
};
struct UseScheduler {
  std::uint32_t device = 0;
  caf::actor scheduler;  // invalid: there is none for now
};

using CancelAtom =
    caf::atom_constant<caf::atom("cancel")>;  // door → request actor: whoever asked is gone, or cancels
using DeadlineAtom =
    caf::atom_constant<caf::atom("deadline")>;  // cluster node → request actor: the router's clock says so
using AbortAtom =
    caf::atom_constant<caf::atom("abort")>;  // gateway → request actor: the drain's time is over
using TickAtom = caf::atom_constant<caf::atom("tick")>;    // an actor to itself
using DrainAtom = caf::atom_constant<caf::atom("drain")>;  // server → supervisor → manager: no new requests
using RetryAtom = caf::atom_constant<caf::atom("retry")>;  // supervisor to itself, with a device or, for the
                                                           // manager, without

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::RunWork)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::RunWorks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::RerunWork)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::AdmitWorks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::CancelWorks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::AnswersReady)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::CancelIds)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::ClientLost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::AdmitWork)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::CancelWork)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::FinishedWorks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::PartLost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::PartStuck)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::FinishRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::Stepped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::PartialResult)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::SubmitTasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::TasksEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::SnapshotQuery)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::UseManager)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::UseWorkers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::UseScheduler)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::UseModel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::ForgetModel)
