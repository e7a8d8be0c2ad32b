#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/report/histogram.h"

namespace volvox {

// What became of the frames of a load of calls that were due while it was measured. Times count from when a
// frame was due, not from when it was sent: a load that falls behind, for whatever reason, hides nothing. One
// thread; merge() joins those of several connections.
class CallTally {
 public:
  // An answer that comes more than `late_after` after its frame was due is late.
  explicit CallTally(Duration late_after = std::chrono::milliseconds(32)) : late_after_(late_after) {}

  void due() { ++frames_; }
  void sent(Duration behind, bool repeated) {  // behind: since it was due
    ++sent_;
    if (repeated) return void(++repeats_);
    behind_.record(behind);
  }
  void answered(Duration after) {
    latency_.record(after);
    late_ += after > late_after_ ? 1 : 0;
  }
  void failed(const Error& error);
  void merge(const CallTally& other);

  std::uint64_t frames() const { return frames_; }    // that were due
  std::uint64_t sent() const { return sent_; }        // messages with them, repeats included
  std::uint64_t repeats() const { return repeats_; }  // those of frames that had failed
  std::uint64_t answered() const { return latency_.count(); }
  std::uint64_t lost() const { return frames_ - answered(); }  // never answered well
  std::uint64_t late() const { return late_; }                 // of the answered
  // Of all frames: those that had no answer in time, the lost ones included; 0 without any.
  double late_fraction() const;
  struct Failures {
    std::uint64_t count = 0;
    std::string first;  // what one of them said
  };
  const std::map<ErrorCode, Failures>& errors() const { return errors_; }  // answers that are errors
  const DurationHistogram& latency() const { return latency_; }            // from due to answered
  const DurationHistogram& behind() const { return behind_; }              // from due to first sent

 private:
  Duration late_after_;
  std::uint64_t frames_ = 0, sent_ = 0, repeats_ = 0, late_ = 0;
  std::map<ErrorCode, Failures> errors_;
  DurationHistogram latency_, behind_;
};

}  // namespace volvox
