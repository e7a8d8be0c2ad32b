#include <CLI/CLI.hpp>

#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Volvox serves neural networks cell by cell."};
  app.set_version_flag("--version", VOLVOX_VERSION);
  app.require_subcommand(1);
  volvox::CommandBody run;
  volvox::add_serve_command(app, run);
  volvox::add_load_command(app, run);
  volvox::add_infer_command(app, run);
  volvox::add_status_command(app, run);
  volvox::add_models_command(app, run);
  CLI11_PARSE(app, argc, argv);
  return run ? run() : 1;
}
