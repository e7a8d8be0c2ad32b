#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/admin/cluster_commands.h"
#include "cli/commands.h"
#include "cli/help_format.h"
#include "cli/simulate.h"

namespace {

constexpr int kWrongUsage = 2;

// CLI11 says of an unknown word only that a subcommand is missing.
bool names_no_subcommand(const CLI::App& app, const std::string& word) {
  if (word.empty() || word.front() == '-') return false;
  return app.get_subcommands([&](const CLI::App* one) { return one->check_name(word); }).empty();
}

int say_which_there_are(const CLI::App& app, const std::string& word) {
  const std::string names = volvox::listed(app.get_subcommands({}), &CLI::App::get_name);
  std::fprintf(stderr, "volvox: there is no subcommand '%s'; there are: %s\n", word.c_str(), names.c_str());
  return kWrongUsage;
}

int run(int argc, char** argv) {
  CLI::App app{"Volvox serves neural networks cell by cell.", "volvox"};
  app.formatter(std::make_shared<volvox::HelpFormat>());  // of all subcommands added from here on
  app.set_version_flag("--version", VOLVOX_VERSION);
  app.require_subcommand(1);
  volvox::CommandBody body;
  volvox::add_serve_command(app, body);
  volvox::add_router_command(app, body);
  volvox::add_node_command(app, body);
  volvox::add_drain_command(app, body);
  volvox::add_load_command(app, body);
  volvox::add_load_agent_command(app, body);
  volvox::add_infer_command(app, body);
  volvox::add_status_command(app, body);
  volvox::add_top_command(app, body);
  volvox::add_models_command(app, body);
  volvox::add_import_command(app, body);
  volvox::add_keys_command(app, body);
  volvox::add_log_level_command(app, body);
  volvox::add_metrics_command(app, body);
  volvox::add_trace_command(app, body);
  volvox::add_record_command(app, body);
  volvox::add_simulate_command(app, body);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "help") {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  if (names_no_subcommand(app, first)) return say_which_there_are(app, first);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return body ? body() : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "volvox: %s\n", error.what());
    return 1;
  }
}
