#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace volvox {

// The subcommands of `volvox`, one file each. A function adds its subcommand to `app` and stores in `run`
// what is to happen when the user chose it; main() calls it after parsing and exits with what it returns (0:
// success, 1: it failed and said why on standard error, 3: a part of a load is missing; wrong usage is 2,
// said by main() itself). `run` outlives nothing but main(), so options live in a shared_ptr that the
// callback captures.
using CommandBody = std::function<int()>;

void add_serve_command(CLI::App& app, CommandBody& run);
void add_load_command(CLI::App& app, CommandBody& run);
void add_load_agent_command(CLI::App& app, CommandBody& run);
void add_infer_command(CLI::App& app, CommandBody& run);
void add_status_command(CLI::App& app, CommandBody& run);
void add_models_command(CLI::App& app, CommandBody& run);
void add_import_command(CLI::App& app, CommandBody& run);
void add_keys_command(CLI::App& app, CommandBody& run);
void add_log_level_command(CLI::App& app, CommandBody& run);
void add_metrics_command(CLI::App& app, CommandBody& run);
void add_top_command(CLI::App& app, CommandBody& run);
void add_trace_command(CLI::App& app, CommandBody& run);
void add_record_command(CLI::App& app, CommandBody& run);

}  // namespace volvox
