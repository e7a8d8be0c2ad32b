#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "loadgen/run/run.h"
#include "loadgen/run/tally.h"
#include "loadgen/sweep/slo.h"

namespace volvox {

struct SweepPlan {
  double first_rate = 0;  // requests a second; where it begins
  double window_s = 1;    // how long requests are sent in a window
  std::optional<Slo> slo{};
};

// What a server did at one rate: windows, measured one after the other until it is steady.
struct SweepPoint {
  double rate = 0;                    // offered, requests a second
  std::vector<double> throughputs{};  // results a second, of each window
  bool stable = false;                // the last three windows are within 10 %
  bool saturated = false;             // less came back than was offered, or nothing, or nothing steady
  bool meets_slo = false;             // and is not saturated
  double throughput = 0;              // of the last three windows
  LoadTally tally{};                  // likewise
};

// The batches that the server formed while a window was measured, its warm-up included.
struct SweepBatches {
  double ended_s = 0;                          // when the window ended; of the sweep
  double rate = 0;                             // offered, requests a second
  std::map<std::string, double> mean_batch{};  // rows a task, by cell type; empty: nobody knows
};

// How much can a server take? This decides which rate is measured next. The rate is raised by half until the
// server is saturated; then the highest rate that meets the SLO (without one: that does not saturate it) is
// searched for between those that do and those that do not, to within 5 %. Where the first rate is too much
// already, it is lowered first. It reads no clock and runs nothing. One thread at a time.
class Sweep {
 public:
  static constexpr std::size_t kMostWindows = 8;  // of a rate, until it counts as unsteady
  static constexpr std::size_t kMostPoints = 30;

  explicit Sweep(const SweepPlan& plan) : plan_(plan), next_(plan.first_rate) {}

  // The rate of the next window; nothing when all is known.
  std::optional<double> next_rate() const { return next_; }
  // What the window at that rate showed, and beside it the server.
  void add(const LoadOutcome& window, SweepBatches batches = {});

  // In the order of their rates, without one whose windows are not complete.
  std::vector<SweepPoint> points() const;
  // Of all windows, in the order of their measurement.
  const std::vector<SweepBatches>& batches() const { return batches_; }
  // The most results a second that a steady rate brought; 0 when there was none.
  double saturated_rps() const;
  // The highest rate that meets the SLO (without one: that does not saturate the server); 0 when none does.
  double highest_rps() const;

 private:
  bool finish_point();
  std::optional<double> choose() const;
  bool is_good(const SweepPoint& point) const { return plan_.slo ? point.meets_slo : !point.saturated; }

  SweepPlan plan_;
  std::optional<double> next_;
  std::vector<LoadOutcome> windows_;  // of the point that is being measured
  std::vector<SweepPoint> points_;    // in the order of measurement
  std::vector<SweepBatches> batches_;
};

// INVALID_ARGUMENT for a load whose rate cannot be raised, or that does not end by itself.
Status check_sweep(const LoadPlan& plan);

}  // namespace volvox
