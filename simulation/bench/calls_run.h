#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "shapes/random.h"
#include "simulation/bench/engine_mark.h"
#include "simulation/bench/engine_options.h"
#include "simulation/bench/engine_result.h"
#include "simulation/bench/engine_setup.h"
#include "simulation/engine.h"

namespace volvox::bench {

// Live calls in one process, without sockets: each a session of which a part of one step is due every period,
// at a phase of its own, in real time and whatever became of the parts before it. Parts of a call run one
// after the other, as a server runs them; one that has to wait is late, for latency counts from when it was
// due. The window holds what is due in `seconds` after the warm-up; the load goes on until that is done, or
// two seconds have passed. Latencies are those of its parts; the throughput is that of their steps.
class CallsRun {
 public:
  CallsRun(EngineSetup& setup, const EngineOptions& options, const Configuration& configuration,
           std::uint32_t calls, std::uint64_t seed);
  // INVALID_ARGUMENT when the model does not run in sessions, or has no room for so many.
  Result<EngineResult> run();

 private:
  struct Call {
    Duration phase{};
    ResultBlock results{};
    std::size_t sample = 0;
    std::uint64_t due = 0, begun = 0;  // parts so far
    bool busy = false;
  };

  Status start();
  Status go();
  TimePoint due_at(const Call& call, std::uint64_t part) const;
  bool is_measured(TimePoint due) const { return due >= from_ && due < to_; }
  TimePoint next_due() const { return due_at(calls_[next_call_], round_); }
  Status take_due(TimePoint now);
  Status begin_part(std::uint32_t index);
  Status take(const Event& event);
  EngineResult result() const;

  EngineSetup& setup_;
  const EngineOptions& options_;
  const Configuration configuration_;
  Duration period_;
  SeededRandom chance_;
  std::vector<Call> calls_;  // by phase; before the engine: its tasks write into them
  std::unique_ptr<Engine> engine_;
  std::vector<Event> events_;
  TimePoint start_{}, from_{}, to_{};
  std::uint32_t next_call_ = 0;  // whose part is due next …
  std::uint64_t round_ = 0;      // … and which
  std::uint64_t outstanding_ = 0, measured_ = 0, late_ = 0, mismatched_ = 0;
  std::vector<double> latencies_ms_;
  EngineMark begin_, end_;
};

}  // namespace volvox::bench
