#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "loadgen/report/gaps.h"
#include "loadgen/report/histogram.h"

namespace volvox {

// Name under which a request counts that was sent and never answered within its time; not an error of the
// protocol.
inline constexpr const char* kLost = "LOST";
// … and of one that was answered with a result.
inline constexpr const char* kAnswered = "OK";

// What happened to the requests of a load. Those of the warm-up stand apart, since the server was not yet in
// its stride; duplicates count whenever they come. One thread at a time; merge() joins those of several
// connections.
struct LoadTally {
  std::uint64_t offered = 0;                    // measured requests: due within the measurement
  std::uint64_t completed = 0;                  // of these: answered with a result
  std::uint64_t on_time = 0;                    // of these: by their deadline
  std::map<std::string, std::uint64_t> errors;  // of these: all others, by error code or kLost
  std::uint64_t duplicates = 0;                 // replies to a request that had its final reply, or to none
  std::uint64_t resent = 0;                     // requests that went to another router, and
  std::uint64_t late_answers = 0;               // answers of those that were given up, then dropped
  std::uint64_t warmup_offered = 0, warmup_completed = 0;
  std::map<std::string, std::uint64_t>
      outcomes;  // of all requests, those of the warm-up too: kAnswered, errors
  std::map<std::string, std::string> first_error;  // a message for each code, to show what it was about
  DurationHistogram latency;                       // scheduled send to reply, of the completed
  DurationHistogram queue, compute;                // as the server states them
  DurationHistogram refused;                       // send to reply, of OVERLOADED and DEADLINE_EXCEEDED
  DurationHistogram retry_after;                   // as the server advises
  DurationHistogram late;                          // scheduled send to actual send, of the offered
  SendGaps gaps;                                   // between measured requests of an open loop
  TimePoint last_answer{};                         // to a measured request

  std::uint64_t failed() const;
  // Whether its numbers can be those of a load that is over: every request has ended, and each once.
  bool agrees() const;
  void merge(const LoadTally& other);
};

// What a watcher sees of a running load. Written by the connections' threads, read by any.
struct LoadProgress {
  std::atomic<std::uint64_t> offered{0}, completed{0}, failed{0};
  std::atomic<std::uint64_t> latency_ns{0};  // sum over the completed
  std::atomic<std::uint64_t> worst_late_ns{0};
};

}  // namespace volvox
