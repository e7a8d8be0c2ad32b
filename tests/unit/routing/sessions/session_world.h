#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "routing/sessions/session_table.h"

namespace volvox::desk {

// Clients, a device and its host memory around one table, all of it at random from one seed, and what must
// hold whatever happens. A state is a hash of all inputs so far, so that a part that runs twice, out of order
// or from another's state shows at once. What the table must say is worked out here from its answers alone.
class World {
 public:
  explicit World(std::uint64_t seed);

  void step();    // one random event
  void settle();  // no more requests: everything on the device ends well
  void drain();
  void check_nothing_is_left();

  SessionStats stats() const { return table_.stats(); }

 private:
  using Id = std::uint64_t;  // SessionId::lo
  static constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeefULL;
  struct Output {
    Output(World& world, std::uint64_t state, std::uint64_t client, std::uint64_t bytes)
        : world(world), state(state), client(client), bytes(bytes) {
      ++world.outputs_;
      world.kept_[client] += bytes;
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output() {
      --world.outputs_;
      world.kept_[client] -= bytes;
    }
    World& world;
    std::uint64_t state, client, bytes;
  };
  struct Asked {
    Id session = 0;  // 0: it found none
    std::uint64_t sequence = 0;
    std::uint64_t content = 0;
    bool ends = false, empty = false, answered = false;
    SessionTicket ticket;
  };
  struct Stream {
    SessionRef ref;
    std::vector<std::uint64_t> states, contents;  // after each committed part; what it was
    std::uint64_t nonce = 0, client = 0, state_bytes = 0;
    bool ended = false;            // its last part is committed
    std::size_t open = 0;          // requests without an answer
    TimePoint taken{}, touched{};  // last request that was taken in; last thing of any kind
  };
  struct Run {
    std::uint64_t sequence = 0;
    StateSlot read = kInitialState, write = kInitialState;
    std::uint64_t content = 0;
    bool stopped = false;
  };

  static SessionLimits random_limits(std::mt19937_64& random);
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  static std::uint64_t mix(std::uint64_t state, Id session, std::uint64_t sequence, std::uint64_t content);
  // Clients mostly repeat what they sent; some send something else in its place.
  std::uint64_t some_content() { return chance(80) ? 1 : 2 + below(3); }
  std::uint64_t state_of(const Stream& stream) const {
    return stream.states.empty() ? 0 : stream.states.back();
  }
  template <class Map>
  Id any_of(const Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(below(map.size())))->first;
  }

  // What clients do.
  void begin();
  void send();
  void send_nonsense();
  void submit(const SessionRequest& request, bool sound);
  void cancel();

  // What the device does.
  void finish(Id session, bool ok);
  void spill(Id session, bool ok);
  void restore(Id session, bool ok);

  // What the driver does.
  void release();
  void allow(SessionActions& out);
  void pass_time();
  // Clients: 0 is nobody that the table knows.
  static constexpr std::uint64_t kClients = 4;
  static HolderName name_of(std::uint64_t client);
  SessionShare share_of(std::uint64_t client) const;
  void check_expiries(const std::set<Id>& live_before);

  // What the table says.
  void take(SessionActions& out);
  void take_run(const SessionAction& action);
  void take_answer(const SessionAction& action);
  void take_refusal(const SessionAction& action);
  void take_copy(const SessionAction& action);
  void check_shares();
  std::map<std::uint64_t, std::uint64_t> live_by_client() const;
  void own(Id session, StateSlot slot);
  void answered(std::uint64_t request);
  void check_bounds();
  bool live(Id session) const { return table_.find({1, session}).has_value(); }
  // Whether it is clear whose the session was that gave way: nothing else ended one.
  void check_gave_way(const std::map<std::uint64_t, std::uint64_t>& before, std::uint64_t asker);

  std::mt19937_64 random_;
  const SessionLimits limits_;
  std::uint32_t allowed_ = limits_.max_resident;  // that may have slots now
  SessionTable table_;
  TimePoint now_{};
  bool draining_ = false;
  std::uint64_t next_request_ = 1;
  Id next_session_ = 1;
  std::uint64_t committed_ = 0;  // parts that ran
  std::int64_t outputs_ = 0;     // that anybody holds
  std::map<std::uint64_t, Asked> asked_;
  std::set<std::uint64_t> open_;
  std::map<Id, Stream> streams_;
  std::map<std::uint64_t, Id> nonces_;  // the last session that was begun with it
  std::map<Id, Run> runs_;
  std::map<Id, StateSlot> spills_, restores_;
  std::map<Id, std::uint64_t> host_;
  std::map<StateSlot, std::uint64_t> slots_;
  std::map<StateSlot, Id> owners_;
  std::map<std::uint64_t, std::uint64_t> kept_;  // bytes of outputs that anybody holds, by client
};

}  // namespace volvox::desk
