#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/link/raw_peer.h"
#include "loadgen/requests/request_source.h"

namespace volvox {

// How many connections misbehave beside a load, and how.
struct MisbehaviourPlan {
  std::string endpoint, model, input;
  Duration deadline{0};          // told with each request; 0: none
  std::uint32_t never_read = 0;  // send, and read no answer
  std::uint32_t vanish = 0;      // send, and are gone; and come again
};

// What came of it.
struct MisbehaviourCounts {
  std::uint64_t sent = 0;      // requests
  std::uint64_t vanished = 0;  // connections cut with requests in flight
};

// The clients that a server must stand: each misbehaving connection sends a few requests in every round,
// those that vanish are cut right after and connect again in the next. One thread.
class Misbehaviour {
 public:
  // Connects those that never read. UNAVAILABLE if the server is not there.
  static Result<Misbehaviour> start(const MisbehaviourPlan& plan, const RequestSource& source);

  // A round a second, until it is stopped.
  void run(const std::stop_token& stop);
  const MisbehaviourCounts& counts() const { return counts_; }

 private:
  Misbehaviour(const MisbehaviourPlan& plan, const RequestSource& source) : plan_(plan), source_(source) {}
  void round();
  void send_one(RawPeer& peer);

  MisbehaviourPlan plan_;
  const RequestSource& source_;
  std::vector<RawPeer> deaf_;
  std::uint64_t next_id_ = 1;
  MisbehaviourCounts counts_;
};

}  // namespace volvox
