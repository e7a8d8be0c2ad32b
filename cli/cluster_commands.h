#pragma once

#include "cli/commands.h"

namespace volvox {

// The subcommands that run one process of a cluster; as those in commands.h.
void add_router_command(CLI::App& app, CommandBody& run);
void add_node_command(CLI::App& app, CommandBody& run);

}  // namespace volvox
