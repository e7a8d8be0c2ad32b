#include "cli/simulate.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/option.h"
#include "cli/output_file.h"
#include "simulation/cluster_scenario.h"
#include "simulation/cluster_world.h"

namespace volvox {
namespace {

struct SimulateArguments {
  std::string file, json_file, placement;
  std::optional<std::uint64_t> seed;
  std::optional<double> seconds;
};

int fail_with(const std::string& message) {
  std::fprintf(stderr, "volvox simulate: %s\n", message.c_str());
  return 1;
}

int run_simulate(const SimulateArguments& arguments) {
  auto scenario = load_scenario(arguments.file);
  if (!scenario) return fail_with(to_string(scenario.error()));
  if (arguments.seed) scenario->seed = *arguments.seed;
  if (arguments.seconds) scenario->seconds = *arguments.seconds;
  if (arguments.placement == "balance") scenario->placement = PlacementKind::kBalance;
  if (arguments.placement == "pack") scenario->placement = PlacementKind::kPack;
  if (arguments.placement == "random") scenario->placement = PlacementKind::kRandom;
  if (const Status good = check(*scenario); !good) return fail_with(to_string(good.error()));
  if (const Status ok = check_report_file(arguments.json_file); !ok) return fail_with(to_string(ok.error()));
  const ScenarioReport report = ClusterWorld(*scenario).run();
  std::fputs(to_text(report).c_str(), stdout);
  const Status written = write_report_file(arguments.json_file, to_json(report).dump(2) + "\n");
  if (!written) return fail_with(to_string(written.error()));
  return report.twice == 0 ? 0 : 1;
}

}  // namespace

void add_simulate_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Runs a scenario of a whole cluster in virtual time; see docs/cluster.md");
  add_option(*command, "file FILE", arguments->file, "The scenario, as TOML")->required();
  add_option(*command, "--json FILE", arguments->json_file, "Where to write the report for programs");
  add_option(*command, "--seed SEED", arguments->seed, "Instead of the scenario's");
  add_option(*command, "--seconds SECONDS", arguments->seconds, "Virtual seconds, instead of the scenario's");
  add_option(*command, "--placement", arguments->placement, "Instead of the scenario's")
      ->check(CLI::IsMember({"balance", "pack", "random"}));
  command->callback([arguments, &run] { run = [arguments] { return run_simulate(*arguments); }; });
}

}  // namespace volvox
