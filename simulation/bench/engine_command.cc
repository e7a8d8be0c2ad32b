#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cpu/fma_peak.h"
#include "simulation/bench/calls_run.h"
#include "simulation/bench/commands.h"
#include "simulation/bench/engine_options.h"
#include "simulation/bench/engine_report.h"
#include "simulation/bench/engine_run.h"
#include "simulation/bench/engine_setup.h"

namespace volvox::bench {
namespace {

// Measures everything once for each repetition, in the same order, so that whatever disturbs the machine
// disturbs all alike.
class Campaign {
 public:
  Campaign(const EngineOptions& options, const EnginePlan& plan, EngineSetup& setup)
      : options_(options), plan_(plan), setup_(setup), report_(options, plan, setup) {}

  Status run() {
    for (std::uint32_t k = 0; k < options_.repeat; ++k) {
      if (options_.device == "cpu") report_.add_peak(fma_peak());
      best_.clear();
      for (const Load& load : plan_.loads) {
        for (const Configuration& configuration : plan_.configurations) {
          if (Status ok = measure(k, configuration, load); !ok) return ok;
        }
      }
    }
    return {};
  }

  const EngineReport& report() const { return report_; }

 private:
  double fma_peak() const {
    const auto isa = cpu::isa_from(options_.isa).value_or(cpu::Isa::kAuto);
    return cpu::measure_fma_peak_gflops(isa, options_.threads * options_.workers);
  }

  Status measure(std::uint32_t repetition, const Configuration& configuration, const Load& load) {
    const double rate = load.kind == Load::Kind::kShare ? load.share * best_[load.of] : load.rate_rps;
    if (load.kind == Load::Kind::kShare && !(rate > 0))
      return fail(ErrorCode::kInternal, "no rate to take a share of");
    std::fprintf(stderr, "repetition %u of %u: %s, %s", repetition + 1, options_.repeat,
                 configuration.text().c_str(), load.text().c_str());
    // The same seed for all: every policy meets the same arrivals.
    const auto result = run(configuration, load, rate, options_.seed + repetition);
    if (!result) return tl::unexpected(result.error());
    std::fprintf(stderr, ": %.1f requests/s\n", result->throughput_rps);
    if (load.kind == Load::Kind::kBacklog) {
      double& best = best_[configuration.policy];
      best = std::max(best, result->throughput_rps);
    }
    report_.add(*result);
    return {};
  }

  Result<EngineResult> run(const Configuration& configuration, const Load& load, double rate,
                           std::uint64_t seed) {
    if (load.kind == Load::Kind::kCalls)
      return CallsRun(setup_, options_, configuration, load.calls, seed).run();
    return EngineRun(setup_, options_, configuration, load, seed).run(rate);
  }

  const EngineOptions& options_;
  const EnginePlan& plan_;
  EngineSetup& setup_;
  EngineReport report_;
  std::map<std::string, double> best_;  // saturated rate by policy, in this repetition
};

int complain(const Error& error) {
  std::fprintf(stderr, "\n%s\n", to_string(error).c_str());
  return 1;
}

int run(const EngineOptions& options) {
  const auto plan = plan_of(options);
  if (!plan) return complain(plan.error());
  auto setup = EngineSetup::make(options, *plan);
  if (!setup) return complain(setup.error());
  Campaign campaign(options, *plan, **setup);
  if (Status ok = campaign.run(); !ok) return complain(ok.error());
  std::fputs(campaign.report().text().c_str(), stdout);
  if (!options.json.empty() && !write_json(options.json, campaign.report().json())) return 1;
  return campaign.report().mismatched() == 0 ? 0 : 1;
}

void add_model_options(CLI::App& command, EngineOptions& o) {
  auto* model = command.add_option("--model", o.model, "folder of a model");
  command.add_option("--kind", o.kind, "without a model: one of this kind of `volvox models new` is made up")
      ->excludes(model);
  command.add_option("--hidden", o.hidden, "its size")->check(CLI::Range(1, 16384))->excludes(model);
  command.add_option("--steps", o.steps, "of its decoder, at most")
      ->check(CLI::Range(1, 65536))
      ->excludes(model);
  command.add_option("--lengths", o.lengths, "file of request lengths (default: made up, mean 24)");
  command.add_option("--trees", o.trees,
                     "file of trees in brackets, one a line (default: made up over --lengths)");
  command.add_option("--lattices", o.lattices,
                     "file of lattices in JSON, one a line (default: made up over --lengths)");
  command.add_option("--eager", o.eager, "on: run what does not wait for the recurrence ahead of it")
      ->transform(CLI::CheckedTransformer(std::map<std::string, bool>{{"on", true}, {"off", false}}));
  command.add_option("--fold", o.fold, "on: look products of embeddings up in tables made at load")
      ->transform(CLI::CheckedTransformer(std::map<std::string, bool>{{"on", true}, {"off", false}}));
  command.add_option("--eager-window", o.eager_window, "steps by which it may run ahead")
      ->check(CLI::Range(1, 4096));
}

void add_load_options(CLI::App& command, EngineOptions& o) {
  command.add_option(
      "--policy", o.policies,
      "cellular, padded, depth, agenda; or with batches, and widths or windows: padded:16,64:1,10");
  command.add_option("--max-batch", o.max_batches, "largest batches to try")->check(CLI::Range(1, 65536));
  command.add_option("--bucket-width", o.bucket_widths, "bucket widths of padded to try")
      ->check(CLI::Range(1, 65536));
  command.add_option("--window", o.windows, "requests that depth and agenda merge, to try")
      ->check(CLI::Range(1, 65536));
  command.add_flag("--backlog", o.backlog,
                   "keep requests waiting: the saturated rate (default without another load)");
  command.add_option("--in-flight", o.in_flight, "requests at a time: the next one when one is answered")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--rate,--rates", o.rates, "requests a second, Poisson");
  command.add_option("--rate-of", o.shares,
                     "share of a policy's best saturated rate in this run: padded:0.5");
  command
      .add_option("--calls", o.calls,
                  "live calls: sessions with a part of one step every --period-ms, each at a time of its own")
      ->check(CLI::Range(1, 1 << 22));
  command.add_option("--period-ms", o.period_ms, "between the parts of a call")
      ->check(CLI::Range(0.1, 10000.0));
  command
      .add_option("--backlog-depth", o.backlog_depth,
                  "requests kept waiting under backlog, in batches of the largest that is tried")
      ->check(CLI::Range(4, 64));
}

void add_device_options(CLI::App& command, EngineOptions& o) {
  command
      .add_option("--device", o.device,
                  "cpu; gpu; timed: tasks only take their time; null: a GPU that computes nothing, at once")
      ->check(CLI::IsMember({"cpu", "gpu", "timed", "null"}));
  command.add_option("--precision", o.precision, "gpu: of products")
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}));
  command.add_option("--gpu-path", o.gpu_path, "gpu: kernels of an LSTM")
      ->check(CLI::IsMember({"auto", "generic", "fused"}));
  command.add_flag("--reproducible", o.reproducible, "gpu: the same bits whatever the batch size");
  command.add_option("--threads", o.threads, "compute threads of each worker")->check(CLI::Range(1, 256));
  command.add_option("--workers", o.workers, "workers on the device")->check(CLI::Range(1, 64));
  command.add_option("--isa", o.isa, "instruction set")
      ->check(CLI::IsMember({"auto", "avx512", "avx2", "portable"}));
  command.add_option("--timed-fixed-us", o.timed_fixed_us, "timed device: microseconds of a task")
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--timed-row-us", o.timed_row_us, "timed device: microseconds of a row")
      ->check(CLI::Range(0.0, 1e6));
}

void add_run_options(CLI::App& command, EngineOptions& o) {
  command.add_option("--seconds", o.seconds, "of each measurement")->check(CLI::Range(0.05, 3600.0));
  command.add_option("--warm-up", o.warm_up_seconds, "seconds before it")->check(CLI::Range(0.0, 600.0));
  command.add_option("--repeat", o.repeat, "interleaved repetitions")->check(CLI::Range(1, 1000));
  command.add_option("--seed", o.seed, "seed of all chance");
  command.add_option("--json", o.json, "write the report to this file");
}

}  // namespace

void add_engine_command(CLI::App& app, int& status) {
  auto options = std::make_shared<EngineOptions>();
  CLI::App* command = app.add_subcommand(
      "engine", "Requests on a scheduler and a device in one process, policies side by side.");
  add_model_options(*command, *options);
  add_load_options(*command, *options);
  add_device_options(*command, *options);
  add_run_options(*command, *options);
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace volvox::bench
