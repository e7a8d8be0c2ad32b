#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "simulation/bench/commands.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Measures Volvox's engine: the scheduler, the kernels, and both together.", "volvox-bench");
  app.require_subcommand(1);
  int status = 0;
  volvox::bench::add_engine_command(app, status);
  volvox::bench::add_scheduler_command(app, status);
  volvox::bench::add_batches_command(app, status);
  volvox::bench::add_kernel_command(app, status);
  volvox::bench::add_gpu_command(app, status);
  volvox::bench::add_gpu_product_command(app, status);
  CLI11_PARSE(app, argc, argv);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "volvox-bench: %s\n", error.what());
    return 1;
  }
}
