#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/node/job_maker.h"
#include "actors/node/node.h"
#include "actors/sessions/part_reader.h"
#include "actors/sessions/session_states.h"
#include "base/recycled_map.h"
#include "routing/sessions/copy_watch.h"
#include "routing/sessions/session_table.h"

namespace volvox {

// Who runs parts on the device.
class PartRunner {
 public:
  virtual ~PartRunner() = default;
  // Whether parts can run on this device.
  virtual bool ready(std::uint32_t device) const = 0;
  // The work comes back in SessionDriver::finished(), or, when it went astray, in lost(): the runner sets
  // SessionPart::keeper.
  virtual void start(const WorkPtr& part) = 0;
  // The part with this key is not wanted any more; it comes back all the same.
  virtual void stop(std::uint64_t key) = 0;
  // What brings a copy that is done to SessionDriver::copied(), from any thread.
  virtual StateCopier::Done on_copied() = 0;
};

// Sessions outlive requests, and must be driven by somebody who has a clock, a device and random numbers.
// SessionTable decides (docs/sessions.md, Part II); this does what it says, in its order and without waiting:
// runs parts, has states copied between devices and the host, answers. Every work that was submitted is
// settled exactly once, by its promise also when the driver ends. Owned and called by one actor.
class SessionDriver {
 public:
  // Null when the configuration allows no session. Both references must outlive it.
  static std::unique_ptr<SessionDriver> make(const NodePtr& node, const JobMaker& jobs, PartRunner& runner,
                                             StateCopierPtr copier);

  SessionDriver(const NodePtr& node, const JobMaker& jobs, PartRunner& runner, StateCopierPtr copier,
                const SessionLimits& limits);

  // A request with a session token.
  void submit(const WorkPtr& work, TimePoint now);
  // Nobody waits for the request any more. False: it is none of the sessions' that wait for an answer.
  bool cancel(std::uint64_t key, ErrorCode why, TimePoint now);
  // A part that came back, and what it would answer.
  void finished(const WorkPtr& part, Outcome&& outcome, TimePoint now);
  void lost(SessionRef session, TimePoint now);
  // The task in which its part runs does not end: whoever waits for the session is refused.
  void hangs(SessionRef session, TimePoint now);
  // A copy that is done, as PartRunner::on_copied() says.
  void copied(StateCopy& copy, TimePoint now);

  void tick(TimePoint now);
  std::optional<TimePoint> next_wakeup() const;
  // What the device held is gone. Reports of what runs are still due.
  void device_lost(std::uint32_t device, TimePoint now);
  // Only these devices take parts now: states are brought to no other, and those on others are left there.
  void use_devices(std::span<const std::uint32_t> devices, TimePoint now);
  void drain(TimePoint now);

  SessionStats stats() const { return table_.stats(); }
  // Shows what has changed since; after each message is often enough.
  void publish();

 private:
  // A request without an answer.
  struct Waiting {
    AnswerPromise answer;
    WorkPtr part;  // to be run for it, until it runs; it answers nobody
    SessionTicket ticket;
    ModelIdentity model;
  };

  // A part that runs as soon as its session's state is on another device.
  struct Moving {
    SessionAction action;
    WorkPtr part;
    bool stopped = false;  // nobody wants it any more
  };

  // A version of a model, as it was last seen.
  struct Seen {
    ModelIdentity identity;
    std::uint64_t serial = 0;  // of the installation
  };

  Result<SessionRequest> describe(Work& work, TimePoint now);
  Result<ModelPtr> find_model(const IncomingRequest& request, std::uint32_t version) const;
  ModelIdentity note(const InstalledModel& model, TimePoint now);
  void end_unloaded(TimePoint now);
  Status read(const ModelPtr& model, Work& work, SessionRequest& request) const;
  ModelIdentity identity_of(const InstalledModel& model);
  std::uint32_t number_of(const std::string& model);

  // Does what the table has said since, and what it says to the reports of that.
  void perform(TimePoint now);
  void perform(const SessionAction& action, TimePoint now);
  void run(const SessionAction& action, TimePoint now);
  Status start(const SessionAction& action, const WorkPtr& part);
  std::span<const std::uint32_t> devices();
  void copy(StateCopyPtr state, TimePoint now);
  void look_for_hanging_copies(TimePoint now);
  void refuse_all_that_wait(TimePoint now);
  void set_others_aside(TimePoint now);
  void moved(SessionRef session, TimePoint now);
  void report(SessionRef session, PartResult result, TimePoint now);
  StateCopyPtr move_home(SessionRef session, StateSlot state);
  std::uint64_t& running(SessionRef session);
  void stop(const SessionAction& action);
  void answer(const SessionAction& action);
  void refuse(const SessionAction& action);
  AnswerPromise take(RecycledMap<Waiting>::iterator waiting);
  WireSessionToken token(const SessionAction& action, const Waiting& waiting) const;

  const NodePtr node_;
  const JobMaker& jobs_;
  PartRunner& runner_;
  const std::uint64_t incarnation_;  // of this driver: parts of an earlier one may come back
  const std::uint64_t numerics_;
  const PartReader reader_;
  std::map<std::string, std::uint32_t> numbers_;  // of models' names
  std::map<std::pair<std::string, std::uint32_t>, Seen> seen_;
  Seen last_seen_;  // of these: most parts are of the model that the one before was of
  SessionTable table_;
  SessionStates states_;
  std::vector<std::uint32_t> usable_;  // devices; all, before anything was said of them
  std::vector<std::uint32_t> wanted_;  // as devices() has last put them
  std::optional<std::pair<SessionStats, std::uint64_t>> published_;  // with the bytes of states on the host
  SessionActions actions_, doing_;
  RecycledMap<Waiting> waiting_;                      // by the request's key
  std::vector<std::uint64_t> running_;                // keys of the parts, by session; 0: none
  std::unordered_map<std::uint32_t, Moving> moving_;  // by session
  CopyWatch copies_;
  const StateCopierPtr copier_;
};

}  // namespace volvox
