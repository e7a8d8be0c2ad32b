#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/index_pool.h"
#include "routing/sessions/holders.h"
#include "routing/sessions/session.h"

namespace volvox {

// Where the state of each session is: in slots on the device, of which there are few, or in host memory; who
// waits in line for slots, and who gives them up. Says kSpill, kRestore, kFree and kForget. What is more than
// a copy (a part that can run, a session that must end, a request that finds no room) it only asks for.
// O(1). Pure; one thread at a time.
class StatePlaces {
 public:
  StatePlaces(std::uint32_t places, std::uint64_t max_spilled_bytes)
      : max_spilled_bytes_(max_spilled_bytes), places_(places), allowed_(places) {}

  enum class Where : std::uint8_t {
    kNowhere,    // there is none: no part was committed
    kResident,   // in slots, or there is none yet and the slots wait for it
    kSpilling,   // in slots, being copied to host memory
    kSpilled,    // in host memory
    kRestoring,  // in host memory, being copied to slots
  };
  // What whoever calls must do before anything more can be done here.
  struct Step {
    enum class Kind : std::uint8_t {
      kNone,   // nothing
      kRun,    // `session` has slots, and had no state: its part can run
      kEvict,  // end `session`: it makes room for others
      kFull,   // refuse the first in line: nobody could make room for it
    };
    Kind kind = Kind::kNone;
    std::uint32_t session = kNoIndex;
  };

  // A new session without a state. `share`: bytes that its holder may have in host memory.
  void enter(const SessionName& name, std::uint32_t holder, std::uint64_t share, std::uint64_t state_bytes);
  void allow(std::uint32_t places) { allowed_ = places; }
  // Those in use for which `which` is true, asked of one slot of each, are on a part of the device that takes
  // no work for now: they do not count as allowed, and nobody is made to give one up, for nobody could have
  // it.
  void set_aside(const std::function<bool(StateSlot)>& which);
  bool aside(std::uint32_t session) const { return records_[session].aside; }

  Where where(std::uint32_t session) const { return records_[session].where; }
  bool copying(std::uint32_t session) const;
  // The first of its two slots, if it has some.
  std::optional<StateSlot> slot(std::uint32_t session) const;
  // What its next part reads, of one that is resident, and what it writes.
  StateSlot read(std::uint32_t session) const;
  StateSlot write(std::uint32_t session) const { return slot(records_[session], records_[session].side ^ 1); }
  void advance(std::uint32_t session);  // that part is committed

  // Its part can run when it has slots; serve() gives them. Ignores one that stands there, or does not.
  void stand_in_line(std::uint32_t session);
  void leave_line(std::uint32_t session);
  std::uint32_t first_in_line() const { return line_.front(); }  // kNoIndex: there is none
  // Some in line for whom nobody idle can make room.
  bool line_is_stuck() const { return line_.size() > promised_ && spare_.empty(); }

  // Idle ones give up their slots for those in line, the least recently active first, and their states in
  // host memory for other holders'. One that begins to be idle without a state gives up its slots at once.
  void become_idle(std::uint32_t session, SessionActions& out);
  void leave_idle(std::uint32_t session);
  void touch(std::uint32_t session);  // its client was heard of; ignores one that is not idle

  // Gives slots to those in line, the first one first, and spills as many idle ones as are still in line.
  // To be called again until it asks for nothing.
  Step serve(SessionActions& out);
  // Spills one that is resident and has a state; to be called again after a kEvict of another. Nothing, once
  // the copy is under way.
  Step spill(std::uint32_t session, SessionActions& out);
  // One that is resident without a state goes to the end of the line.
  void go_behind(std::uint32_t session, SessionActions& out);
  // Reports of the copies. After a spill that failed the session keeps its slots until spare() offers them
  // again, as the last one's of the idle.
  void spilled(std::uint32_t session, bool ok, SessionActions& out);
  void restored(std::uint32_t session, bool ok);
  // … or there was no room for the state on the device: it is still in host memory, and there only.
  void not_restored(std::uint32_t session, SessionActions& out);
  void spare(std::uint32_t session);
  // It has ended, and is not being copied: gives up what it has.
  void let_go(std::uint32_t session, SessionActions& out);

  void count(SessionStats& stats) const;

 private:
  struct Record {
    SessionName name;
    std::uint32_t holder = 0;
    std::uint64_t bytes = 0;  // that the state takes in host memory
    Where where = Where::kNowhere;
    std::uint32_t place = kNoIndex;  // slots 2·place and 2·place + 1
    std::uint32_t side = 1;          // which of them holds the committed state
    bool has_state = false;          // false: parts start from the initial state
    bool idle = false;
    bool spare = false;     // in the list of those that can give up their slots
    bool put_away = false;  // in its holder's list of idle ones in host memory
    bool aside = false;     // its place is
    bool in_line = false;
    ListLinks by_use, line;
  };
  struct Holder {
    std::uint64_t share = 0;
    IndexList<Record, &Record::by_use> put_away;  // idle, in host memory; least recently active first
  };

  static StateSlot slot(const Record& record, std::uint32_t side) { return 2 * record.place + side; }
  bool has_free_place() const { return in_use() < places_ && in_use() - aside_ < allowed_; }
  std::uint32_t in_use() const { return made_ - static_cast<std::uint32_t>(free_.size()); }
  void take_place(Record& record);
  void give_up_place(Record& record, Where then, SessionActions& out);
  bool seat(std::uint32_t session, SessionActions& out);
  Step host_room(std::uint32_t session) const;
  void put_away(std::uint32_t session);
  void leave_spare(std::uint32_t session);

  const std::uint64_t max_spilled_bytes_;
  const std::uint32_t places_;
  std::vector<Record> records_;  // by session
  std::vector<Holder> holders_;
  Holdings held_;                             // bytes in host memory, being copied or not
  IndexList<Record, &Record::by_use> spare_;  // idle with slots; least recently active first
  IndexList<Record, &Record::line> line_;     // ready, and without slots
  std::vector<std::uint32_t> free_;           // places
  std::uint32_t made_ = 0, allowed_ = 0;      // likewise
  std::uint32_t aside_ = 0;                   // of those in use
  std::size_t spilling_ = 0, restoring_ = 0, spilled_ = 0;
  std::size_t promised_ = 0;  // of those being spilled: their slots will be of use to somebody in line
  std::uint64_t spills_ = 0, failed_spills_ = 0, restores_ = 0;
};

}  // namespace volvox
