#include <CLI/CLI.hpp>

#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Volvox serves neural networks cell by cell."};
  app.set_version_flag("--version", VOLVOX_VERSION);
  app.require_subcommand(1);
  volvox::CommandBody run;
#ifdef VOLVOX_HAVE_SERVE
  volvox::add_serve_command(app, run);
#endif
#ifdef VOLVOX_HAVE_LOAD
  volvox::add_load_command(app, run);
#endif
#ifdef VOLVOX_HAVE_INFER
  volvox::add_infer_command(app, run);
#endif
#ifdef VOLVOX_HAVE_STATUS
  volvox::add_status_command(app, run);
#endif
#ifdef VOLVOX_HAVE_MODELS
  volvox::add_models_command(app, run);
#endif
  CLI11_PARSE(app, argc, argv);
  return run ? run() : 1;
}
