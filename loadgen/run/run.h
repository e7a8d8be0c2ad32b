#pragma once

#include <functional>
#include <memory>
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
  std::vector<LoadTally> by_class;  // of those of each class of the mix
  double seconds =
      0;  // from the start of the measurement to its end, or to the last answer if that came later
  std::vector<AnswerSample> samples;
  Timeline timeline;  // in no order; empty unless the plan asked for it
};

// Runs a load to its end: a thread for each connection, all on one schedule. `on_progress`, unless empty, is
// called about once a second by the calling thread. A stop request ends the sending; what is in flight
// drains. The error is the plan's, the mix's, or that of a connection that could not be opened; whatever
// happens to requests is in the outcome.
Result<LoadOutcome> run_load(const LoadPlan& plan, const RequestMix& mix, const LinkFactory& open_link,
                             const std::stop_token& stop,
                             const std::function<void(const ProgressReading&)>& on_progress);

}  // namespace volvox
