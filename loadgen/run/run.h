#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "loadgen/link/link.h"
#include "loadgen/plan/plan.h"
#include "loadgen/run/progress.h"

namespace volvox {

// Opens one more connection to the server under load; called by the thread that calls run_load().
using LinkFactory = std::function<Result<std::unique_ptr<LoadLink>>()>;

// What came of a load.
struct LoadOutcome {
  LoadTally tally;                  // of all requests
  std::vector<LoadTally> by_class;  // of those of each class of the mix, and
  LoadTally apart;                  // what belongs to none (duplicates and the like)
  // From the start of the measurement to its end, or to the last answer if that came later: not of a closed
  // loop that has been going before.
  double seconds = 0;
  std::vector<AnswerSample> samples;
  Timeline timeline;  // in no order; empty unless the plan asked for it
};

// A load in two steps, for whoever decides when it starts: the connections are opened, then all of them work
// on one schedule, a thread each. Borrows the mix. One thread at a time, but for progress().
class LoadRun {
 public:
  // Parts as divide() makes them. The error is that of a connection that could not be opened.
  static Result<std::unique_ptr<LoadRun>> open(std::vector<ConnectionPlan> parts, const RequestMix& mix,
                                               const LinkFactory& open_link);

  // Runs to the end. A stop request ends the sending; what is in flight drains. `on_progress`, unless empty,
  // is called about once a second by the calling thread.
  LoadOutcome run(TimePoint start, const std::stop_token& stop,
                  const std::function<void(const ProgressReading&)>& on_progress);

  TimePoint now() { return links_.front()->now(); }
  // What has happened so far; any thread.
  LoadProgress& progress() { return progress_; }

 private:
  LoadRun(std::vector<ConnectionPlan> parts, const RequestMix& mix) : parts_(std::move(parts)), mix_(mix) {}
  bool mostly_sleeps() const;
  void run_one(LoadConnection& connection, const std::stop_token& stop);
  void watch(const std::function<void(const ProgressReading&)>& on_progress);
  LoadOutcome outcome(bool stopped);

  std::vector<ConnectionPlan> parts_;
  const RequestMix& mix_;
  LoadProgress progress_;
  std::vector<std::unique_ptr<LoadLink>> links_;
  std::vector<std::unique_ptr<LoadConnection>> connections_;
  TimePoint start_{};
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t running_ = 0;  // guarded by mutex_
};

// Runs a load to its end: a thread for each connection, all on one schedule. `on_progress`, unless empty, is
// called about once a second by the calling thread. A stop request ends the sending; what is in flight
// drains. The error is the plan's, the mix's, or that of a connection that could not be opened; whatever
// happens to requests is in the outcome.
Result<LoadOutcome> run_load(const LoadPlan& plan, const RequestMix& mix, const LinkFactory& open_link,
                             const std::stop_token& stop,
                             const std::function<void(const ProgressReading&)>& on_progress);

}  // namespace volvox
