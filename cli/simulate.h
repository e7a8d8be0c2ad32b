#pragma once

#include "cli/commands.h"

namespace volvox {

// `volvox simulate`: a whole cluster in virtual time. As the functions of commands.h, but what it needs
// builds without anything of the server.
void add_simulate_command(CLI::App& app, CommandBody& run);

}  // namespace volvox
