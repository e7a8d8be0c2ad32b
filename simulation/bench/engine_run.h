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
#include "simulation/bench/request_feed.h"
#include "simulation/engine.h"

namespace volvox::bench {

// One configuration under one load for a few seconds, with a scheduler and queues of its own.
//   Backlog: requests are replaced as they finish. The window runs from the first completion after the
//   warm-up to the first after `seconds` more, so that it holds whole groups of a policy that finishes in
//   groups. Rate: arrivals by a Poisson process, never slowed down by answers; latency counts from the
//   scheduled arrival. The window holds the arrivals of `seconds` after the warm-up; the load goes on until
//   they are answered, or as long again has passed.
class EngineRun {
 public:
  EngineRun(EngineSetup& setup, const EngineOptions& options, const Configuration& configuration,
            const Load& load, std::uint64_t seed);
  // `rate_rps`: of the arrivals; ignored under backlog.
  Result<EngineResult> run(double rate_rps);

 private:
  struct Live {
    ResultBlock results;
    std::unique_ptr<InputPages> inputs;  // its own, if it has brought some
    RequestFeed* feed = nullptr;         // that made it
    std::size_t sample = 0;
    TimePoint arrival{};
    bool in_window = false;
    bool busy = false;
  };
  // What has been done up to some moment.
  struct Mark {
    EngineMark engine;
    std::uint64_t completed = 0;
    double useful_flops = 0;
  };

  Status start();
  Status run_closed();
  Status run_rate(double rate_rps);
  Status admit(TimePoint arrival, bool in_window);
  Result<Request> make_request(Live& live);
  Status turn(Duration timeout);
  void take(const Event& event);
  Mark mark();
  EngineResult result() const;
  void add_latencies(EngineResult& result) const;

  EngineSetup& setup_;
  const EngineOptions& options_;
  const Configuration configuration_;
  const Load load_;
  SeededRandom chance_;
  std::vector<std::unique_ptr<RequestFeed>> feeds_;  // of requests that bring their inputs
  std::size_t turn_ = 0;                             // whose the next request is
  std::vector<Live> live_;                           // before the engine: its tasks write into them
  std::vector<std::size_t> free_;
  std::unique_ptr<Engine> engine_;
  std::vector<Event> events_;

  std::uint64_t outstanding_ = 0, in_window_ = 0, arrivals_ = 0;
  std::vector<double> flops_;  // by sample
  std::uint64_t completed_ = 0;
  double useful_flops_ = 0;
  std::uint64_t failed_ = 0, refused_ = 0, mismatched_ = 0;
  std::vector<double> latencies_ms_;
  Mark begin_, end_;
};

}  // namespace volvox::bench
