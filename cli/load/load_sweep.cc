#include "cli/load/load_sweep.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/option.h"
#include "cli/output_file.h"
#include "loadgen/sweep/sweep_report.h"

namespace volvox {
void add_sweep_options(CLI::App& command, SweepArguments& arguments) {
  auto* sweep =
      command.add_flag("--sweep", arguments.sweep,
                       "Raise the rate from --rate on, in windows of --seconds, until the server is "
                       "saturated, and search for the highest rate that is good");
  add_option(command, "--slo WORDS", arguments.slo, "With --sweep: what a good rate is, 'p99=50ms'")
      ->needs(sweep);
  add_option(command, "--csv FILE", arguments.csv_file,
             "With --sweep: also write what was measured to this file")
      ->needs(sweep);
  add_option(command, "--html FILE", arguments.html_file,
             "With --sweep: also write a page with charts to this file, which needs no network")
      ->needs(sweep);
}

Result<int> sweep_load(const SweepArguments& arguments, LoadPlan plan, const std::string& title,
                       const std::string& json_file, const std::stop_token& stop,
                       const std::function<Result<LoadOutcome>(const LoadPlan&)>& measure,
                       const std::function<std::map<std::string, BatchCount>()>& batches) {
  if (Status ok = check_plan(plan); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_sweep(plan); !ok) return tl::unexpected(ok.error());
  SweepPlan wanted{.first_rate = plan.rate, .window_s = std::chrono::duration<double>(plan.measured).count()};
  if (!arguments.slo.empty()) {
    auto slo = parse_slo(arguments.slo);
    if (!slo) return tl::unexpected(slo.error());
    wanted.slo = *slo;
  }
  Sweep sweep(wanted);
  const auto begin = std::chrono::steady_clock::now();
  auto before = batches();
  Status failed;  // what was measured before is told all the same
  for (auto rate = sweep.next_rate(); rate; rate = sweep.next_rate()) {
    plan.rate = *rate;
    auto window = measure(plan);
    if (stop.stop_requested()) break;
    if (!window) {
      failed = tl::unexpected(window.error());
      break;
    }
    std::fprintf(stderr, "%.1f a second: %llu of %llu answered in %.1f s\n", *rate,
                 static_cast<unsigned long long>(window->tally.completed),
                 static_cast<unsigned long long>(window->tally.offered), window->seconds);
    auto after = batches();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    sweep.add(*window, {.ended_s = passed.count(), .mean_batch = mean_batch(before, after)});
    before = std::move(after);
    ++plan.seed;  // another window is another sample of the same load
  }
  if (!failed && sweep.points().empty()) return tl::unexpected(failed.error());
  std::fputs(to_text(sweep, wanted).c_str(), stdout);
  Status written = write_report_file(json_file, to_json(sweep, wanted).dump(2) + "\n");
  if (written) written = write_report_file(arguments.csv_file, to_csv(sweep));
  if (written) written = write_report_file(arguments.html_file, to_html(sweep, wanted, title));
  if (!written) return tl::unexpected(written.error());
  if (!failed) return tl::unexpected(failed.error());
  return sweep.highest_rps() > 0 ? 0 : 1;
}

}  // namespace volvox
