#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/index_pool.h"
#include "base/time.h"
#include "routing/node_id.h"

namespace volvox {

// Drawn at random by a process when it starts: tells it from earlier ones of the same name.
using Incarnation = std::uint64_t;

// What a router sends to all nodes again and again, and a node gives back with its next report.
using Ping = std::int64_t;

enum class MemberState : std::uint8_t {
  kAlive,
  kSuspect,  // silent for a while: keeps what it has, gets nothing new that another can do
  kDead,     // silent for too long, or replaced: what it had is taken from it
  kLeft,     // said goodbye
};

struct Member {
  std::string name;
  Incarnation incarnation = 0;
  MemberState state = MemberState::kAlive;
  bool draining = false;      // gets nothing new, and leaves when it has nothing left
  bool disconnected = false;  // the transport lost it, and it was not heard of since

  bool takes_work() const { return state == MemberState::kAlive && !draining; }
  // Silent, but what is sent there may arrive: better than nobody.
  bool is_last_resort() const { return state == MemberState::kSuspect && !draining && !disconnected; }
};

struct MembershipLimits {
  Duration suspect_after = std::chrono::milliseconds(400);
  Duration dead_after = std::chrono::seconds(1);
  // Time in which nobody called counts as this much at most: see Membership.
  Duration longest_gap = std::chrono::milliseconds(200);
  std::uint32_t max_members = 4096;
};
// Says which limit makes no sense, and why.
Status check(const MembershipLimits& limits);

struct MemberEvent {
  enum class Kind : std::uint8_t { kJoined, kSuspected, kRecovered, kDraining, kDied, kLeft };
  Kind kind{};
  NodeId node;
  std::string name;
};
using MemberEvents = std::vector<MemberEvent>;

// A transport may believe in a dead peer for minutes, and lose a live one. So a router decides by itself who
// is there: by pings and by the reports that echo them. What counts is when the newest ping that came back
// was sent; a node that hears nothing, or is not heard, grows silent either way. Over a slow link pings wait
// behind what is under way: there, what proves that both ends hear each other counts as well as an echo.
//
// Ages are measured in time during which somebody called: whoever was stopped itself (a debugger, a machine
// that swaps) learns nothing about others from that. So call at least every longest_gap / 2.
//
// A member that died or left is forgotten at once, apart from its name and incarnation: the process that was
// replaced by another one of its name is refused when it comes back, so that two processes with one name do
// not push each other out for ever. Memory is bounded by max_members.
//
// Pure: no clock, no chance, no message. One thread at a time. Events are appended to `out`, in order.
class Membership {
 public:
  // `limits` must have passed check().
  explicit Membership(const MembershipLimits& limits) : limits_(limits) {}

  // The process takes part from now on. A member of the same name dies at once, even if it is the same
  // process: who joins again starts afresh. OVERLOADED: max_members are there. PERMISSION_DENIED: another
  // process has taken over this name. UNAVAILABLE: another process has it, and is neither lost nor silent.
  Result<NodeId> join(std::string_view name, Incarnation incarnation, TimePoint now, MemberEvents& out);

  // The number to send to all members now.
  Ping ping(TimePoint now);
  // A report came that echoes this ping. False: no member has this id any more; it must join again.
  bool report(NodeId node, Ping echo, TimePoint now, MemberEvents& out);
  // Something came that it only sends when it hears this end. Ignored of who is no member.
  void heard(NodeId node, TimePoint now, MemberEvents& out);
  // Takes in that time has passed: who became suspect, who died.
  void advance(TimePoint now, MemberEvents& out);

  // These ignore ids that are no member's.
  void drain(NodeId node, MemberEvents& out);
  void leave(NodeId node, MemberEvents& out);
  // The transport lost it. It is suspected at once, but only silence or a new join makes it dead.
  void disconnected(NodeId node, TimePoint now, MemberEvents& out);

  // Null when the id is no member's. Good until the next call that is not const.
  const Member* find(NodeId node) const;
  std::optional<NodeId> find(std::string_view name) const;
  // How the last one of this name ended that is no member any more: kDead or kLeft. Nothing for names that
  // are members', unknown, or forgotten.
  std::optional<MemberState> ended(std::string_view name) const;
  std::size_t size() const { return members_.used(); }
  std::size_t usable() const;  // those that take work
  // Since the first call, as ages are measured.
  Duration age() const { return awake_; }

 private:
  struct Record : Member {
    Duration heard{};  // when it was last known to hear this end, in awake time
  };
  struct Name {
    NodeId node;  // of the present member, if any
    Incarnation last = 0;
    bool left = false;  // the last one said goodbye
    std::vector<Incarnation> replaced;
  };

  Record* record(NodeId node);
  Status may_join(std::string_view name, Incarnation incarnation) const;
  void pass_time(TimePoint now);
  void judge(NodeId node, MemberEvents& out);
  void end(NodeId node, MemberState how, MemberEvents& out);
  void remember_gone(const std::string& name);
  void tell(MemberEvent::Kind kind, NodeId node, MemberEvents& out) const;

  MembershipLimits limits_;
  IndexPool<Record> members_;
  std::map<std::string, Name, std::less<>> names_;
  std::deque<std::string> gone_;  // names to forget, the oldest first
  Duration awake_{};              // time that has passed, without long gaps
  Duration last_ping_{-1};
  std::optional<TimePoint> last_call_;
};

}  // namespace volvox
