#include "cli/load/load_agents.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "cli/option.h"
#include "config/addresses.h"
#include "protocol/curve/curve_keys.h"

namespace volvox {
namespace {

// "10.0.0.1:7300" is what people write; ZeroMQ wants to know how.
std::string endpoint_of(const std::string& address) {
  return address.find("://") == std::string::npos ? "tcp://" + address : address;
}

// One key for all of them, or one for each.
Result<std::vector<std::string>> read_agent_keys(const std::string& files, std::size_t agents) {
  std::vector<std::string> keys;
  for (const std::string& file : split_addresses(files)) {
    auto key = read_public_key(file);
    if (!key) return tl::unexpected(key.error());
    keys.push_back(std::move(key->public_key));
  }
  if (keys.size() == 1) keys.resize(agents, keys.front());
  if (keys.size() == agents) return keys;
  return invalid("--agent-key takes one file, or one for each agent: " + std::to_string(agents) + ", not " +
                 std::to_string(keys.size()));
}

Result<std::vector<AgentAddress>> addresses_of(const AgentsArguments& arguments) {
  std::vector<AgentAddress> addresses;
  for (const std::string& address : split_addresses(arguments.agents))
    addresses.push_back({endpoint_of(address)});
  if (arguments.coordinator_key.empty()) return addresses;
  auto own = read_secret_key(arguments.coordinator_key);
  if (!own) return tl::unexpected(own.error());
  auto keys = read_agent_keys(arguments.agent_keys, addresses.size());
  if (!keys) return tl::unexpected(keys.error());
  for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i].keys = ChannelKeys{(*keys)[i], *own};
  return addresses;
}

}  // namespace

void add_agents_options(CLI::App& command, AgentsArguments& arguments) {
  auto* agents =
      add_option(command, "--agents ADDRESSES", arguments.agents,
                 "Have these agents (volvox load-agent) offer the load together: HOST:PORT with commas");
  auto* agent = add_option(command, "--agent-key FILES", arguments.agent_keys,
                           "File with the public key of the agents, or one for each, with commas")
                    ->needs(agents);
  auto* own = add_option(command, "--coordinator-key FILE", arguments.coordinator_key,
                         "File with the secret key that the agents know this command by")
                  ->needs(agents);
  agent->needs(own);
  own->needs(agent);
}

Result<AgentsOutcome> load_from_agents(const AgentsArguments& arguments, const std::string& target,
                                       const LoadPlan& plan, const RequestMix& mix,
                                       const std::stop_token& stop, bool shows_progress) {
  auto addresses = addresses_of(arguments);
  if (!addresses) return tl::unexpected(addresses.error());
  CoordinatorOptions options{.target = target, .agents = std::move(*addresses)};
  AgentsProgress on_progress;
  if (shows_progress) {
    on_progress = [](const ProgressReading& reading, const std::vector<AgentReport>& agents) {
      std::fprintf(stderr, "%s\n", agents_progress_line(reading, agents).c_str());
    };
  }
  return run_agents(options, plan, mix, stop, on_progress);
}

}  // namespace volvox
