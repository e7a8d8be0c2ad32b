#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "simulation/bench/engine_options.h"
#include "simulation/bench/engine_run.h"
#include "simulation/bench/engine_setup.h"
#include "simulation/bench/statistics.h"

namespace volvox::bench {

// What `volvox-bench engine` found, for people and for programs. In JSON `fma_peak_gflops` is a median;
// `runs` has one entry for each configuration and load, whose measured values are
//   {"median": m, "spread": [least, most], "values": [one for each repetition]}.
class EngineReport {
 public:
  EngineReport(const EngineOptions& options, const EnginePlan& plan, const EngineSetup& setup);

  void add_peak(double gflops) { peak_.add(gflops); }
  // Results come in the order of the plan, repetition after repetition.
  void add(const EngineResult& result);

  nlohmann::json json() const;
  std::string text() const;
  // Results that differed from those of another run of the same request.
  std::uint64_t mismatched() const;

 private:
  struct Row {
    Configuration configuration;
    Load load;
    Repeated offered, throughput, p50, p90, p99, max, late, mean_batch, useful, executed, moved, host_ns, cpu,
        engine_us, waiting_us, making_us, others_us, seconds;
    std::uint64_t completed = 0, failed = 0, refused = 0, unfinished = 0, mismatched = 0;
  };
  nlohmann::json json(const Row& row) const;

  const EngineOptions& options_;
  std::string device_, model_;
  double mean_length_, load_seconds_;
  std::uint64_t folded_bytes_;
  Repeated peak_;
  std::vector<Row> rows_;  // loads × configurations, as in the plan
  std::size_t next_ = 0;
};

}  // namespace volvox::bench
