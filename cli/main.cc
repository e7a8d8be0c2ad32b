#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "cli/cluster_commands.h"
#include "cli/commands.h"
#include "cli/simulate.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"Volvox serves neural networks cell by cell."};
  app.set_version_flag("--version", VOLVOX_VERSION);
  app.require_subcommand(1);
  volvox::CommandBody body;
  volvox::add_serve_command(app, body);
  volvox::add_router_command(app, body);
  volvox::add_node_command(app, body);
  volvox::add_drain_command(app, body);
  volvox::add_load_command(app, body);
  volvox::add_infer_command(app, body);
  volvox::add_status_command(app, body);
  volvox::add_models_command(app, body);
  volvox::add_keys_command(app, body);
  volvox::add_log_level_command(app, body);
  volvox::add_simulate_command(app, body);
  CLI11_PARSE(app, argc, argv);
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
