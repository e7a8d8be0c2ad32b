#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "loadgen/agents/coordinator.h"

namespace volvox {

// The options of `volvox load` that have several machines offer it.
struct AgentsArguments {
  std::string agents;  // addresses with commas; empty: this process offers the load
  std::string agent_keys, coordinator_key;
};

void add_agents_options(CLI::App& command, AgentsArguments& arguments);

// Offers the server at `target` a load from the agents. `shows_progress`: on standard error.
Result<AgentsOutcome> load_from_agents(const AgentsArguments& arguments, const std::string& target,
                                       const LoadPlan& plan, const RequestMix& mix,
                                       const std::stop_token& stop, bool shows_progress);

}  // namespace volvox
