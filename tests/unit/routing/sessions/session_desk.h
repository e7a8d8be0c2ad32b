#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "routing/sessions/session_table.h"

namespace volvox::desk {

inline constexpr ModelIdentity kModel{1, 2, 3, 4};
inline constexpr Duration kSecond{std::chrono::seconds(1)};

// Few of everything, so that tests reach each bound.
SessionLimits small_limits();

// What the actions say, in one line:
//   run K:N R>W   answer K:N (* repeated, ! last)   refuse K CODE   stop S   spill S R   restore S W   free S
//   forget S
// with K the request, N the sequence, S the session's id, R and W slots ("-": the initial state).
std::string text(const SessionActions& actions);

// A table, a clock, and somebody who speaks to it by small numbers: sessions by their ids, requests by their
// keys. Every call returns the text of what the table wants done.
class Desk {
 public:
  explicit Desk(const SessionLimits& limits = small_limits()) : table(limits) {}

  std::string begin(std::uint64_t id, std::uint64_t key, std::uint64_t nonce = 0);
  std::string send(std::uint64_t id, std::uint64_t sequence, std::uint64_t key, std::uint64_t content = 0);
  std::string end(std::uint64_t id, std::uint64_t sequence, std::uint64_t key, bool empty = false);
  std::string submit(const SessionRequest& request);
  std::string done(std::uint64_t id, std::uint64_t bytes = 10);
  std::string failed(std::uint64_t id);
  std::string spilled(std::uint64_t id, bool ok = true);
  std::string restored(std::uint64_t id, bool ok = true);
  std::string not_restored(std::uint64_t id);
  std::string cancel(std::uint64_t key);
  std::string refuse_all(std::uint64_t id);
  std::string release(std::uint64_t id, SessionEnd reason);
  std::string drain();
  std::string wait(Duration how_long);  // and tick
  // A session that has committed `parts` parts and is idle; resident if there is room.
  void make(std::uint64_t id, std::uint64_t parts = 1);
  // Of three sessions on two places: the state of 1 is on its way back for its part 1, asked for by 11; that
  // of 2 made room for it.
  void bring_back();

  // A well-formed request.
  static SessionRequest request(std::uint64_t id, std::uint64_t sequence, std::uint64_t key);

  SessionRef ref(std::uint64_t id) const { return refs_.at(id); }
  SessionStats stats() const { return table.stats(); }
  const Error& last_error() const { return last_error_; }
  const SessionActions& last() const { return out_; }

  SessionTable table;
  TimePoint now{};

 private:
  std::string told();

  SessionActions out_;
  std::map<std::uint64_t, SessionRef> refs_;
  std::map<std::uint64_t, SessionTicket> tickets_;
  Error last_error_;
};

}  // namespace volvox::desk
