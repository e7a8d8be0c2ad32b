#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "loadgen/link/link.h"
#include "loadgen/plan/arrivals.h"
#include "loadgen/requests/request_mix.h"
#include "loadgen/run/samples.h"
#include "loadgen/run/tally.h"
#include "loadgen/run/timeline.h"

namespace volvox {

// One connection's part of a load. Request k of it is number first_index + k · index_step of the whole load.
struct ConnectionPlan {
  Arrivals arrivals = Arrivals::kPoisson;
  double rate = 0;  // requests a second; open loops; of a curve: what part of its rates
  std::shared_ptr<const RateCurve> curve{};
  Duration first{};               // when a constant schedule begins
  std::uint32_t concurrency = 0;  // in flight at once; closed loop
  std::uint64_t first_index = 0, index_step = 1;
  std::uint64_t seed = 1;
  Duration warmup{};           // what is due before is sent, but not measured
  Duration measured{};         // length of the measurement; 0: until `requests`
  std::uint64_t requests = 0;  // measured requests at most; 0: until `measured` has passed
  Duration timeout{};          // without a final reply for that long after its sending, a request is lost
  std::size_t samples = 0;     // answers kept for verification
  double highest_rate = 0;     // requests a second, never exceeded whatever the schedule says; 0: none
  bool timeline = false;       // keep what became of each measured request
};

// Sends a plan's requests over one link and keeps account of what comes back: the loop of one client thread.
//
// A generator that waits for slow answers before it sends the next request measures its own patience. Here
// the schedule is fixed in advance, latency counts from the scheduled instant, and how late the sending
// itself was is recorded beside it. run() ends in bounded time whatever the server does: each request is
// answered, or lost after `timeout`. Used by one thread; owns its accounts, borrows the link, the mix and the
// progress.
class LoadConnection {
 public:
  // `awake`: how long before each request of an open loop's schedule it no longer sleeps.
  LoadConnection(const ConnectionPlan& plan, const RequestMix& mix, LoadLink& link, LoadProgress& progress,
                 Duration awake = {});

  Duration awake() const { return awake_; }

  // Runs to the end. After a stop request nothing more is sent and the rest drains.
  void run(TimePoint start, const std::stop_token& stop);

  // Of the requests of each class; what belongs to none (duplicates and the like) is apart.
  const std::vector<LoadTally>& by_class() const { return by_class_; }
  const LoadTally& apart() const { return apart_; }
  LoadTally tally() const;  // all together
  std::vector<AnswerSample> take_samples() { return samples_.take(); }
  Timeline take_timeline() { return std::move(timeline_); }

 private:
  struct Flight {
    std::uint64_t index = 0;
    std::uint32_t of_class = 0;
    TimePoint scheduled, sent;
    bool measured = false;
  };

  bool may_send(TimePoint now);
  TimePoint next_turn() const;
  void send_due();
  void send_one(TimePoint scheduled);
  LoadTally& tally_of(const Flight& flight) { return by_class_[flight.of_class]; }
  void note_offered(const Flight& flight, TimePoint now);
  void receive(TimePoint until);
  void settle(const Reply& reply, TimePoint now);
  void complete(const Flight& flight, const Reply& reply, TimePoint now);
  void refuse(const Flight& flight, const Reply& reply, TimePoint now);
  void cancel_due(TimePoint now);
  void give_up(const Flight& flight, const std::string& code, const std::string& message, TimePoint now);
  void note_end(const Flight& flight, const std::string& outcome, TimePoint now);
  void expire(TimePoint now);
  void lose_link(const Error& error);
  void linger();
  TimePoint next_event() const;

  ConnectionPlan plan_;
  const RequestMix& mix_;
  LoadLink& link_;
  LoadProgress& progress_;
  const Duration awake_;  // before a request is due
  ArrivalSchedule schedule_;
  AnswerSamples samples_;
  std::vector<LoadTally> by_class_;
  LoadTally apart_;
  TimePoint last_scheduled_{}, last_sent_{};  // of the last measured request of an open loop
  Timeline timeline_;

  TimePoint start_{};
  TimePoint allowed_{};                                     // by the highest rate, with the last one sent
  TimePoint due_{};                                         // open loop: when the next request is to be sent
  bool sending_ = true;                                     // false once the plan's end is reached
  bool link_lost_ = false;                                  // receive() said that nothing will come any more
  std::uint64_t made_ = 0;                                  // requests so far
  std::uint64_t offered_ = 0;                               // of these, measured
  std::unordered_map<std::uint64_t, Flight> in_flight_;     // by request id
  std::deque<std::pair<TimePoint, std::uint64_t>> by_age_;  // sent, request id; also answered ones
  std::multimap<TimePoint, std::uint64_t> cancels_;         // due, request id
  std::unordered_set<std::uint64_t> lost_;                  // given up, may still be answered
  std::deque<TimePoint> slots_;                             // closed loop: when each may send again
  RequestContent content_;
  std::vector<Reply> replies_;
};

}  // namespace volvox
