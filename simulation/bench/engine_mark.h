#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "simulation/bench/engine_result.h"
#include "simulation/bench/engine_setup.h"
#include "simulation/engine.h"

namespace volvox::bench {

Duration seconds_of(double seconds);
double in_seconds(Duration span);
double ratio(double a, double b);  // 0 where b is

// An engine for one configuration on the setup's device, with a scheduler and queues of its own.
Result<std::unique_ptr<Engine>> make_engine(EngineSetup& setup, const EngineOptions& options,
                                            const Configuration& configuration);

// What an engine has done up to some moment.
struct EngineMark {
  TimePoint at{};
  std::vector<TypeTotals> totals;
  std::uint64_t rows_moved = 0, rows_executed = 0;
  std::uint64_t cpu_ns = 0, kernel_cpu_ns = 0;          // of the process; inside kernels
  std::uint64_t engine_cpu_ns = 0, waiting_cpu_ns = 0;  // of the engine's thread, which asks; of it, waiting
  std::uint64_t making_cpu_ns = 0;                      // of the thread that makes requests, if there is one
};
EngineMark mark_of(Engine& engine);

// What it did between two moments, in which it completed `result.completed`: the result's time, and all that
// follows from tasks and CPU time.
void add_work(const EngineMark& begin, const EngineMark& end, const EngineSetup& setup, EngineResult& result);

}  // namespace volvox::bench
