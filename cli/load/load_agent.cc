#include "loadgen/agents/load_agent.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/admin/key_options.h"
#include "cli/commands.h"
#include "cli/option.h"
#include "cli/server/port_file.h"
#include "cli/server/ready_line.h"
#include "loadgen/run/interrupt.h"

namespace volvox {
namespace {

struct AgentArguments {
  std::string listen = AgentOptions().listen, key, coordinators, port_file;
  AgentPage metrics;
  std::vector<std::string> targets;
  double max_rate = AgentLimits().highest_rate, max_seconds = 3600;
  std::uint32_t max_connections = AgentLimits().connections, max_in_flight = AgentLimits().in_flight;
  KeyFiles target_keys;
};

Result<std::optional<EdgeKeys>> read_own_keys(const AgentArguments& arguments) {
  if (arguments.key.empty()) return std::nullopt;
  auto own = read_secret_key(arguments.key);
  if (!own) return tl::unexpected(own.error());
  auto coordinators = CurveClients::in_folder(arguments.coordinators);
  if (!coordinators) return tl::unexpected(coordinators.error());
  return EdgeKeys{std::move(*own), std::move(*coordinators)};
}

Result<AgentOptions> options_of(const AgentArguments& arguments) {
  AgentOptions options;
  options.listen =
      arguments.listen.find("://") == std::string::npos ? "tcp://" + arguments.listen : arguments.listen;
  options.limits.targets = arguments.targets;
  options.limits.highest_rate = arguments.max_rate;
  options.limits.connections = arguments.max_connections;
  options.limits.in_flight = arguments.max_in_flight;
  options.limits.longest = Duration(static_cast<Duration::rep>(arguments.max_seconds * 1e9));
  options.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  options.metrics = arguments.metrics;
  options.version = VOLVOX_VERSION;
  auto own = read_own_keys(arguments);
  if (!own) return tl::unexpected(own.error());
  options.keys = std::move(*own);
  auto target = read_keys(arguments.target_keys);
  if (!target) return tl::unexpected(target.error());
  options.target_keys = std::move(*target);
  return options;
}

Status serve_coordinators(const AgentArguments& arguments) {
  auto options = options_of(arguments);
  if (!options) return tl::unexpected(options.error());
  const InterruptWatch interrupt;
  auto agent = LoadAgent::open(std::move(*options));
  if (!agent) return tl::unexpected(agent.error());
  const std::string& endpoint = (*agent)->endpoint();
  const std::string metrics = http_address(arguments.metrics.address, (*agent)->monitor().port());
  if (!arguments.port_file.empty()) {
    std::string lines = endpoint + "\n";
    if (!metrics.empty()) lines += metrics + "\n";
    if (Status ok = write_port_file(arguments.port_file, lines); !ok) return ok;
  }
  say_ready("volvox load-agent ready: " + endpoint + (metrics.empty() ? "" : " metrics " + metrics));
  (*agent)->run(interrupt.token());
  return {};
}

void add_limit_options(CLI::App& command, AgentArguments& arguments) {
  add_option(
      command, "--target ADDRESS", arguments.targets,
      "A server that may be put under load: tcp://HOST:PORT, or tcp://HOST:* for any port; may be repeated")
      ->required()
      ->delimiter(',');
  add_option(command, "--max-rate COUNT", arguments.max_rate, "Requests a second at most, whoever asks")
      ->check(CLI::PositiveNumber);
  add_option(command, "--max-connections COUNT", arguments.max_connections, "Connections at most")
      ->check(CLI::Range(1U, 256U));
  add_option(command, "--max-in-flight COUNT", arguments.max_in_flight,
             "Requests of a closed loop in flight at most")
      ->check(CLI::PositiveNumber);
  add_option(command, "--max-seconds SECONDS", arguments.max_seconds, "A load takes so long at most")
      ->check(CLI::Range(1.0, 1e6));
}

}  // namespace

void add_load_agent_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<AgentArguments>();
  CLI::App* command =
      app.add_subcommand("load-agent", "Offers its part of a load when `volvox load --agents` asks for it");
  add_option(*command, "--listen ADDRESS", arguments->listen,
             "Where it listens: HOST:PORT; 0.0.0.0 and other addresses beyond loopback need keys");
  auto* key = add_option(*command, "--agent-key FILE", arguments->key, "File with this agent's secret key");
  auto* coordinators = add_option(*command, "--coordinators FOLDER", arguments->coordinators,
                                  "Folder with the public keys (NAME.key) of those who may command it");
  key->needs(coordinators);
  coordinators->needs(key);
  add_limit_options(*command, *arguments);
  add_key_options(*command, arguments->target_keys);
  auto* metrics = add_option(*command, "--metrics ADDRESS", arguments->metrics.address,
                             "Where its metrics are, for Prometheus: HOST:PORT or unix:PATH");
  add_option(*command, "--metrics-token FILE", arguments->metrics.token_file,
             "File with the tokens of those who may read them; needed beyond loopback")
      ->needs(metrics);
  add_option(*command, "--metrics-hosts NAMES", arguments->metrics.hosts,
             "Names by which they call it, with commas, where it is not by its number")
      ->needs(metrics);
  add_option(*command, "--port-file FILE", arguments->port_file,
             "Write the addresses that it listens on there, a line each, for --listen with port * and "
             "--metrics with port 0");
  command->callback([arguments, &run] {
    run = [arguments] {
      const Status status = serve_coordinators(*arguments);
      if (status) return 0;
      std::fprintf(stderr, "volvox load-agent: %s\n", to_string(status.error()).c_str());
      return 1;
    };
  });
}

}  // namespace volvox
