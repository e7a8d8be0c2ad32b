#pragma once

#include <CLI/CLI.hpp>

namespace volvox::bench {

// Each adds one subcommand to volvox-bench. Its callback runs it and sets `status`, the process's exit
// status.
void add_engine_command(CLI::App& app, int& status);
void add_batches_command(CLI::App& app, int& status);
void add_scheduler_command(CLI::App& app, int& status);
void add_kernel_command(CLI::App& app, int& status);
void add_gpu_command(CLI::App& app, int& status);
void add_gpu_product_command(CLI::App& app, int& status);

}  // namespace volvox::bench
