#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "actors/node/catalog.h"
#include "actors/node/node.h"
#include "actors/sessions/session_places.h"
#include "actors/system/job_thread.h"
#include "install/session_rows.h"
#include "routing/sessions/session.h"

namespace volvox {

// A session's state in the pools of a device. It stays there as long as this does.
struct StatePlace {
  NodeDevicePtr device;  // null: the state is on the host
  LentNumber place, slot;
  CarriedState state;
};

// A state on its way. Made by SessionStates, which also takes it back when it has been made, or could not be.
struct StateCopy {
  enum class Kind : std::uint8_t { kSpill, kRestore, kMove };

  Kind kind{};
  SessionRef session;
  StateSlot slot = 0;
  std::uint64_t driver = 0;  // which SessionDriver waits for it
  ModelPtr model;
  StatePlace from, to;
  std::vector<std::byte> bytes;  // on the host: where it comes from, goes to, or passes
  bool made = false;
};
using StateCopyPtr = std::shared_ptr<StateCopy>;

// Whose thread makes the copy: the device that has the state, or else the one that is to have it.
std::uint32_t copying_device(const StateCopy& copy);

// Bytes of one session's state outside of the planes.
std::size_t carried_bytes(const InstalledModel& model);

// A device may take long to copy a state, and for ever when it hangs; other sessions and all requests that
// stand alone must go on meanwhile. So states are copied by a thread of the device that has them, or is to
// have them. It starts with the first copy. The destructor waits for the copies that are being made, so
// whoever must be replaced at once when it fails does not own this: the manager's supervisor does. One caller
// at a time.
class StateCopier {
 public:
  using Done = std::function<void(StateCopyPtr)>;  // must not throw

  explicit StateCopier(std::size_t devices) : threads_(devices) {}

  // Calls `done` from the thread when StateCopy::made says how it went; at once where there can be no thread.
  // No task may be in flight that touches the state.
  void start(const StateCopyPtr& copy, const Done& done);

 private:
  bool post(std::uint32_t device, JobThread::Job job);

  std::vector<std::unique_ptr<JobThread>> threads_;  // by device; null: not yet
};
using StateCopierPtr = std::shared_ptr<StateCopier>;

}  // namespace volvox
