#include "simulation/bench/engine_mark.h"

#include <algorithm>
#include <utility>

#include "base/cpu_time.h"
#include "batching/policy/policies.h"

namespace volvox::bench {
namespace {

std::unique_ptr<Policy> make_policy(const SchedulerConfig& config, const Configuration& asked) {
  if (asked.policy == "padded") return make_padded_policy(config, {asked.bucket_width, asked.max_batch});
  if (asked.policy == "depth") return make_depth_policy(config, asked.window);
  if (asked.policy == "agenda") return make_agenda_policy(config, asked.window);
  return make_cellular_policy(config);
}

}  // namespace

Duration seconds_of(double seconds) {
  return Duration(static_cast<std::int64_t>(seconds * 1e9));
}

double in_seconds(Duration span) {
  return static_cast<double>(span.count()) * 1e-9;
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

Result<std::unique_ptr<Engine>> make_engine(EngineSetup& setup, const EngineOptions& options,
                                            const Configuration& configuration) {
  SchedulerConfig config = scheduler_config(setup.installation(), options.workers);
  for (TypeConfig& type : config.types) {
    if (!type.independent) type.max_batch = std::min(type.max_batch, configuration.max_batch);
    type.min_batch = std::min(type.min_batch, type.max_batch);
  }
  return Engine::make(setup.device(), config, make_policy(config, configuration),
                      queue_config(config, options.threads));
}

EngineMark mark_of(Engine& engine) {
  EngineMark m;
  m.at = engine.now();
  m.totals = engine.totals();
  const SchedulerStats stats = engine.scheduler().stats();
  m.rows_moved = stats.rows_moved;
  m.rows_executed = stats.rows_executed;
  m.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  m.engine_cpu_ns = thread_cpu_ns();
  m.waiting_cpu_ns = engine.waiting_cpu_ns();
  m.kernel_cpu_ns = engine.kernel_time().cpu_kernel_ns;
  return m;
}

void add_work(const EngineMark& begin, const EngineMark& end, const EngineSetup& setup,
              EngineResult& result) {
  result.seconds = in_seconds(end.at - begin.at);
  double executed = 0;
  for (std::size_t t = 0; t < end.totals.size(); ++t) {
    const auto rows = static_cast<double>(end.totals[t].executed_rows - begin.totals[t].executed_rows);
    executed += rows * setup.model().compiled[t].flops_per_row * 1e-9;
  }
  result.executed_gflops = ratio(executed, result.seconds);
  const TypeTotals& a = begin.totals[setup.core_type()];
  const TypeTotals& b = end.totals[setup.core_type()];
  result.mean_batch = ratio(static_cast<double>(b.rows - a.rows), static_cast<double>(b.tasks - a.tasks));
  result.rows_moved_ratio = ratio(static_cast<double>(end.rows_moved - begin.rows_moved),
                                  static_cast<double>(end.rows_executed - begin.rows_executed));
  const auto cpu_ns = static_cast<double>(end.cpu_ns - begin.cpu_ns);
  const double outside = cpu_ns - static_cast<double>(end.kernel_cpu_ns - begin.kernel_cpu_ns);
  result.host_ns_per_cell = ratio(outside, static_cast<double>(b.rows - a.rows));
  result.cpu_share = ratio(cpu_ns * 1e-9, result.seconds);
  const auto us_each = [&](std::uint64_t from, std::uint64_t to) {
    return ratio(static_cast<double>(to - from) * 1e-3, static_cast<double>(result.completed));
  };
  HostTime& host = result.host;
  host.waiting_us = us_each(begin.waiting_cpu_ns, end.waiting_cpu_ns);
  host.engine_us = us_each(begin.engine_cpu_ns, end.engine_cpu_ns) - host.waiting_us;
  host.making_us = us_each(begin.making_cpu_ns, end.making_cpu_ns);
  host.others_us = ratio(outside * 1e-3, static_cast<double>(result.completed)) - host.engine_us -
                   host.waiting_us - host.making_us;
}

}  // namespace volvox::bench
