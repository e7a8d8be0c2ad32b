#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/heap.h"
#include "cli/admin/key_options.h"
#include "cli/commands.h"
#include "cli/load/load_agents.h"
#include "cli/load/load_calls.h"
#include "cli/load/load_requests.h"
#include "cli/load/load_sessions.h"
#include "cli/load/load_sweep.h"
#include "cli/option.h"
#include "cli/output_file.h"
#include "loadgen/link/channel_link.h"
#include "loadgen/report/report.h"
#include "loadgen/run/interrupt.h"
#include "loadgen/run/misbehaviour.h"
#include "loadgen/server/server_status.h"
#include "repository/repository.h"

namespace volvox {
namespace {

constexpr const char* kDefaultEndpoint = "tcp://127.0.0.1:7100";
constexpr const char* kDefaultMetrics = "http://127.0.0.1:7101";

constexpr int kPartial = 3;  // the status when agents did not do their share

struct LoadArguments {
  std::string endpoint = kDefaultEndpoint, arrivals = "poisson";
  RequestWords request;
  std::string workload, json_file, timeline_file, metrics;
  ModelFolders folders;
  double rate = 0, seconds = 0, warmup = 1, timeout_s = 30;
  std::uint32_t never_read = 0, vanish = 0;
  std::uint32_t concurrency = 0, connections = 1;
  std::uint64_t requests = 0, seed = 1;
  std::optional<std::uint64_t> verify_count;
  bool progress = false, require_all = false;
  KeyFiles keys;
  SessionArguments sessions;
  CallArguments calls;
  AgentsArguments agents;
  SweepArguments sweep;
  bool bundles = false;
};

Duration seconds_of(double seconds) {
  return Duration(static_cast<Duration::rep>(seconds * 1e9));
}

void add_traffic_options(CLI::App& command, LoadArguments& options) {
  auto* rate = add_option(command, "--rate COUNT", options.rate, "Open loop: this many requests a second")
                   ->check(CLI::PositiveNumber);
  add_option(command, "--arrivals", options.arrivals, "Open loop: 'poisson' or 'constant' gaps")
      ->check(CLI::IsMember({"poisson", "constant"}));
  add_option(command, "--concurrency COUNT", options.concurrency,
             "Closed loop: keep this many requests in flight")
      ->check(CLI::PositiveNumber)
      ->excludes(rate);
  add_option(command, "--connections COUNT", options.connections,
             "Connections, each with a thread of its own");
  add_option(command, "--seconds SECONDS", options.seconds,
             "Measure for this long (default 10 without --requests)")
      ->check(CLI::NonNegativeNumber);
  add_option(command, "--requests COUNT", options.requests, "Measure at most this many requests");
  add_option(command, "--warmup SECONDS", options.warmup, "Seconds of load before the measurement")
      ->check(CLI::NonNegativeNumber);
  add_option(command, "--seed SEED", options.seed, "The same seed gives the same load");
  add_option(command, "--timeout SECONDS", options.timeout_s,
             "Seconds after which an unanswered request is lost")
      ->check(CLI::PositiveNumber);
}

void add_misbehaviour_options(CLI::App& command, LoadArguments& options) {
  constexpr std::uint32_t kMost = 10'000;
  add_option(command, "--never-read COUNT", options.never_read,
             "Beside the load: so many connections that send and never read")
      ->check(CLI::Range(0U, kMost));
  add_option(command, "--vanish COUNT", options.vanish,
             "Beside the load: so many connections that send and are cut, once a second")
      ->check(CLI::Range(0U, kMost));
}

void add_check_options(CLI::App& command, LoadArguments& options) {
  auto* verify = add_option(command, "--verify FOLDER", options.folders.model,
                            "Compare answers with a double-precision reference of the model in this folder");
  add_option(command, "--models FOLDER", options.folders.models,
             "The same for --model's folder in this repository")
      ->excludes(verify);
  add_option(command, "--verify-count COUNT", options.verify_count,
             "How many answers to compare (default 100; of models with integer results 100000)");
  add_option(command, "--metrics URL", options.metrics,
             "The server's monitoring address, for batch sizes (default: that of the default server)");
  add_option(command, "--json FILE", options.json_file, "Also write the report to this file");
  add_option(command, "--timeline FILE", options.timeline_file,
             "Write there when each request was due, how long it took, and what became of it");
  command.add_flag("--progress", options.progress, "A line a second, even where nobody looks at a terminal");
  command.add_flag("--require-all", options.require_all,
                   "Fail unless every request was answered with a result");
}

// Options that a kind of load does not look at: whoever gives one expects something of it.
struct Ignored {
  const char* kind;
  std::vector<const char*> options;
};

std::vector<Ignored> ignored_options() {
  const std::vector<const char*> of_lone_requests{
      "--sweep",      "--rate",        "--arrivals",        "--concurrency",     "--requests",
      "--timeline",   "--require-all", "--metrics",         "--deadline-ms",     "--priority",
      "--never-read", "--vanish",      "--cancel-fraction", "--cancel-after-ms", "--trees",
      "--lattices",   "--sequences"};
  Ignored sessions{"--sessions", of_lone_requests}, calls{"--calls", of_lone_requests};
  for (const char* option : {"--connections", "--warmup", "--verify", "--models", "--verify-count"})
    sessions.options.push_back(option);
  for (const char* option : {"--length", "--lengths", "--vocabulary"}) calls.options.push_back(option);
  return {std::move(sessions),
          std::move(calls),
          {"--sweep", {"--verify", "--models", "--verify-count", "--timeline", "--require-all"}}};
}

void refuse_ignored(const CLI::App& command) {
  for (const Ignored& ignored : ignored_options()) {
    if (command.get_option(ignored.kind)->count() == 0) continue;
    for (const char* option : ignored.options) {
      if (command.get_option(option)->count() > 0) throw CLI::ExcludesError(ignored.kind, option);
    }
  }
}

LoadPlan plan_of(const LoadArguments& options) {
  LoadPlan plan;
  plan.arrivals = options.arrivals == "constant" ? Arrivals::kConstant : Arrivals::kPoisson;
  if (options.concurrency > 0) plan.arrivals = Arrivals::kClosed;
  plan.rate = options.rate;
  plan.concurrency = options.concurrency;
  plan.connections = options.connections;
  plan.warmup = seconds_of(options.warmup);
  const bool unbounded = options.seconds <= 0 && options.requests == 0;
  plan.measured = seconds_of(unbounded ? 10 : options.seconds);
  plan.requests = options.requests;
  plan.timeout = seconds_of(options.timeout_s);
  plan.seed = options.seed;
  plan.timeline = !options.timeline_file.empty();
  return plan;
}

std::string describe(const LoadPlan& plan) {
  std::string text(to_string(plan.arrivals));
  switch (plan.arrivals) {
    case Arrivals::kClosed:
      return text + " loop of " + std::to_string(plan.concurrency);
    case Arrivals::kCurve:
      return text + " of up to " + nlohmann::json(plan.rate * plan.curve->peak()).dump() + " a second";
    case Arrivals::kTrace:
      return text;
    case Arrivals::kPoisson:
    case Arrivals::kConstant:
      break;
  }
  return text + " " + nlohmann::json(plan.rate).dump() + " a second";
}

// One run of the command.
class LoadCommand {
 public:
  explicit LoadCommand(LoadArguments options) : options_(std::move(options)) {}

  Result<int> run() {
    for (const std::string* path : {&options_.json_file, &options_.timeline_file, &options_.sweep.csv_file,
                                    &options_.sweep.html_file}) {
      if (Status ok = check_report_file(*path); !ok) return tl::unexpected(ok.error());
    }
    if (options_.bundles && options_.sessions.sessions == 0 && options_.calls.calls == 0)
      return invalid("--bundle needs --sessions or --calls");
    if (!options_.workload.empty() && options_.sessions.sessions + options_.calls.calls > 0)
      return invalid(
          "a workload is of requests that stand alone; leave out --workload, or --sessions and --calls");
    options_.sessions.bundles = options_.calls.bundles = options_.bundles;
    if (Status fits = agents_fit(); !fits) return tl::unexpected(fits.error());
    if (options_.sessions.sessions > 0) return run_sessions();
    if (options_.calls.calls > 0) return run_calls();
    auto workload = workload_of();
    if (!workload) return tl::unexpected(workload.error());
    auto requests = LoadRequests::make(std::move(workload->requests), options_.folders, workload->plan.seed,
                                       workload->trace, workload->speed);
    if (!requests) return tl::unexpected(requests.error());
    const RequestMix& mix = (*requests)->mix();
    LoadPlan plan = workload->plan;
    if ((*requests)->verifies())
      plan.samples = options_.verify_count.value_or((*requests)->exact() ? 100'000 : 100);

    if (options_.sweep.sweep) return run_sweep(plan, mix);
    const auto before = read_batches(mix);
    LoadSummary report;
    std::optional<InterruptWatch> interrupt(std::in_place);
    auto outcome = measure(plan, mix, report, interrupt->token());
    interrupt.reset();
    if (!outcome) return tl::unexpected(outcome.error());
    report.endpoint = options_.endpoint;
    report.model = mix.models();
    report.arrivals = describe(plan);
    report.shapes = mix.description();
    report.outcome = std::move(*outcome);
    report.models = by_model(mix, report.outcome);
    report.mean_batch = mean_batch(before, read_batches(mix));
    if (auto ok = verify_answers(report, **requests); !ok) return tl::unexpected(ok.error());
    return publish(report);
  }

 private:
  Status agents_fit() const {
    if (options_.agents.agents.empty()) return {};
    if (options_.sessions.sessions > 0 || options_.calls.calls > 0 ||
        options_.never_read + options_.vanish > 0)
      return invalid(
          "agents offer requests that stand alone; leave out --agents, or --sessions, --calls, "
          "--never-read and --vanish");
    if (!options_.keys.server_key.empty())
      return invalid(
          "agents have keys of their own towards the server: leave out --server-key and --client-key, "
          "and give them to volvox load-agent");
    return {};
  }

  // By whom ever; what else it found out goes into the report.
  Result<LoadOutcome> measure(const LoadPlan& plan, const RequestMix& mix, LoadSummary& report,
                              const std::stop_token& stop) const {
    if (options_.agents.agents.empty()) return measure_beside(plan, mix, report.misbehaved, stop);
    auto outcome = load_from_agents(options_.agents, options_.endpoint, plan, mix, stop, shows_progress());
    if (!outcome) return tl::unexpected(outcome.error());
    report.agents = std::move(outcome->agents);
    return std::move(outcome->outcome);
  }

  Result<int> run_sweep(const LoadPlan& plan, const RequestMix& mix) const {
    const InterruptWatch interrupt;
    const auto measure_one = [&](const LoadPlan& window) -> Result<LoadOutcome> {
      LoadSummary report;
      auto outcome = measure(window, mix, report, interrupt.token());
      if (outcome && is_partial(report))
        return fail(ErrorCode::kUnavailable,
                    "an agent is missing; a sweep with less than all would say too little");
      return outcome;
    };
    const std::string title = mix.models() + " at " + options_.endpoint + ": " + mix.description();
    return sweep_load(options_.sweep, plan, title, options_.json_file, interrupt.token(), measure_one,
                      [&] { return read_batches(mix); });
  }

  Result<int> run_sessions() {
    auto lengths = lengths_of(options_.request);
    if (!lengths) return tl::unexpected(lengths.error());
    if (options_.request.model.empty()) return invalid("which model? Name it with --model");
    auto keys = read_keys(options_.keys);
    if (!keys) return tl::unexpected(keys.error());
    SessionLoadPlan plan;
    plan.keys = std::move(*keys);
    plan.endpoint = options_.endpoint;
    plan.model = options_.request.model;
    plan.model_version = options_.request.version;
    plan.input = options_.request.input;
    plan.vocabulary = options_.request.vocabulary;
    plan.measured = plan_of(options_).measured;
    plan.timeout = seconds_of(options_.timeout_s);
    plan.seed = options_.seed;
    return load_sessions(options_.sessions, std::move(plan), *lengths, options_.json_file);
  }

  Result<int> run_calls() {
    auto keys = read_keys(options_.keys);
    if (!keys) return tl::unexpected(keys.error());
    const LoadPlan common = plan_of(options_);
    CallPlan plan;
    plan.connections = common.connections;
    plan.warmup = common.warmup;
    plan.measured = common.measured;
    plan.timeout = common.timeout;
    plan.seed = common.seed;
    CallSurroundings around;
    around.target = {
        .endpoint = options_.endpoint,
        .model = options_.request.model,
        .input = options_.request.input == RequestWords().input ? std::string() : options_.request.input,
        .model_version = options_.request.version,
        .timeout = common.timeout,
        .keys = std::move(*keys)};
    around.verify_folder = folder_to_verify();
    around.verify_calls = static_cast<std::uint32_t>(options_.verify_count.value_or(around.verify_calls));
    around.json_file = options_.json_file;
    return load_calls(options_.calls, plan, std::move(around));
  }

  // Of the model that answers are compared with; empty if they are not.
  std::string folder_to_verify() const {
    return options_.folders.models.empty() ? options_.folders.model
                                           : options_.folders.models + "/" + options_.request.model;
  }

  // A file, or the options as one.
  Result<LoadWorkload> workload_of() const {
    if (!options_.workload.empty()) return read_workload(options_.workload, plan_of(options_));
    return LoadWorkload{.plan = plan_of(options_), .requests = {options_.request}};
  }

  // While some connections misbehave, if they are to.
  Result<LoadOutcome> measure_beside(const LoadPlan& plan, const RequestMix& mix, MisbehaviourCounts& counts,
                                     const std::stop_token& interrupted) const {
    if (options_.never_read + options_.vanish == 0) return measure_here(plan, mix, interrupted);
    const MisbehaviourPlan beside{.endpoint = options_.endpoint.substr(0, options_.endpoint.find(',')),
                                  .model = mix.classes().front().common.model,
                                  .input = mix.classes().front().common.input,
                                  .deadline = mix.classes().front().common.deadline,
                                  .never_read = options_.never_read,
                                  .vanish = options_.vanish};
    auto misbehaviour = Misbehaviour::start(beside, mix.classes().front().source);
    if (!misbehaviour) return tl::unexpected(misbehaviour.error());
    std::jthread thread([&misbehaviour](const std::stop_token& stop) { misbehaviour->run(stop); });
    auto outcome = measure_here(plan, mix, interrupted);
    thread.request_stop();
    thread.join();
    counts = misbehaviour->counts();
    return outcome;
  }

  Result<LoadOutcome> measure_here(const LoadPlan& plan, const RequestMix& mix,
                                   const std::stop_token& stop) const {
    const auto open = [&] { return open_link(mix); };
    return run_load(plan, mix, open, stop, progress_hook());
  }

  Result<std::unique_ptr<LoadLink>> open_link(const RequestMix& mix) const {
    auto keys = read_keys(options_.keys);
    if (!keys) return tl::unexpected(keys.error());
    return ChannelLink::open(options_.endpoint, mix, std::move(*keys));
  }

  bool shows_progress() const { return options_.progress || isatty(STDERR_FILENO) != 0; }

  std::function<void(const ProgressReading&)> progress_hook() const {
    if (!shows_progress()) return {};
    return
        [](const ProgressReading& reading) { std::fprintf(stderr, "%s\n", progress_line(reading).c_str()); };
  }

  // Empty when the server's monitoring is out of reach: a load needs no metrics.
  std::map<std::string, BatchCount> read_batches(const RequestMix& mix) const {
    const bool default_server = options_.metrics.empty() && options_.endpoint == kDefaultEndpoint;
    const std::string url = default_server ? kDefaultMetrics : options_.metrics;
    if (url.empty()) return {};
    const auto status = read_server_status(url, std::chrono::seconds(3));
    return status ? batch_counts(status->page, mix.classes().size() == 1 ? mix.models() : std::string())
                  : std::map<std::string, BatchCount>{};
  }

  Status verify_answers(LoadSummary& report, LoadRequests& requests) {
    if (!requests.verifies()) return {};
    const auto& samples = report.outcome.samples;
    auto last = std::chrono::steady_clock::now();
    const InterruptWatch interrupt;
    const auto on_progress = [&](std::size_t done) {
      const auto now = std::chrono::steady_clock::now();
      if (shows_progress() && now - last >= std::chrono::seconds(1)) {
        std::fprintf(stderr, "verified %zu of %zu answers\n", done, samples.size());
        last = now;
      }
      return !interrupt.token().stop_requested();
    };
    auto verified = verify(samples, requests.mix(), requests, on_progress);
    if (!verified) return tl::unexpected(verified.error());
    report.verification = *verified;
    return {};
  }

  Result<int> publish(const LoadSummary& report) const {
    std::fputs(to_text(report).c_str(), stdout);
    std::ostringstream timeline;
    write_timeline(report.outcome.timeline, timeline);
    Status written = write_report_file(options_.json_file, to_json(report).dump(2) + "\n");
    if (written) written = write_report_file(options_.timeline_file, timeline.str());
    if (!written) return tl::unexpected(written.error());
    if (is_partial(report)) return kPartial;
    const bool all = report.outcome.tally.completed == report.outcome.tally.offered;
    return is_good(report) && (all || !options_.require_all) ? 0 : 1;
  }

  LoadArguments options_;
};

}  // namespace

void add_load_command(CLI::App& app, CommandBody& run) {
  auto options = std::make_shared<LoadArguments>();
  CLI::App* command = app.add_subcommand("load", "Offers a server load, measures it and checks its answers");
  add_option(*command, "--connect,--endpoint,--server ADDRESS", options->endpoint,
             "Where the server listens; several routers of a cluster with commas");
  add_key_options(*command, options->keys);
  add_option(*command, "--model NAME", options->request.model, "The model's name");
  add_option(*command, "--model-version VERSION", options->request.version,
             "The model's version; 0 for the newest");
  add_option(*command, "--workload FILE", options->workload,
             "Who asks what, how often and when, as a file; it goes before the options that say the same");
  add_traffic_options(*command, *options);
  add_request_options(*command, options->request);
  add_misbehaviour_options(*command, *options);
  add_check_options(*command, *options);
  add_session_options(*command, options->sessions);
  add_call_options(*command, options->calls);
  add_agents_options(*command, options->agents);
  add_sweep_options(*command, options->sweep);
  command->add_flag("--bundle", options->bundles,
                    "With --sessions or --calls: send the parts that are due at one time in one message");
  command->callback([command, options, &run] {
    refuse_ignored(*command);
    run = [options] {
      keep_freed_memory();
      const auto code = LoadCommand(*options).run();
      if (code) return *code;
      std::fprintf(stderr, "volvox load: %s\n", to_string(code.error()).c_str());
      return 1;
    };
  });
}

}  // namespace volvox
