#pragma once

#include "cli/commands.h"

namespace volvox {

// The subcommands of a cluster: those that run one process of it, and the operator's; as those in commands.h.
void add_router_command(CLI::App& app, CommandBody& run);
void add_node_command(CLI::App& app, CommandBody& run);
// Asks a router to drain a node.
void add_drain_command(CLI::App& app, CommandBody& run);

}  // namespace volvox
