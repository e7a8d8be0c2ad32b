#include "cli/server/server_command.h"

#include <cstdio>
#include <utility>

#include "cli/option.h"
#include "cli/server/descriptors.h"
#include "cli/server/stop_watch.h"
#include "cli/server/thread_policy.h"
#include "config/load.h"
#include "config/validate.h"
#include "monitoring/log/logging.h"

namespace volvox {
namespace {

Result<ClusterConfig> read_config(const ServerArguments& arguments, const ConfigUse& use) {
  ClusterConfig config;
  if (!arguments.config_file.empty()) {
    auto loaded = use.load(arguments.config_file);
    if (!loaded) return loaded;
    config = std::move(*loaded);
  }
  for (const auto& change : *arguments.changes) change(config);
  Status valid;
  if (use.fit) valid = use.fit(config);
  if (valid) valid = use.check(config);
  if (!valid) return tl::unexpected(valid.error());
  return config;
}

}  // namespace

void add_server_options(CLI::App& command, ServerArguments& arguments, const char* port_file_help) {
  add_option(command, "--config FILE", arguments.config_file, "TOML file with everything that can be set");
  add_option(command, "--port-file FILE", arguments.port_file, port_file_help);
  command.add_flag("--print-config", arguments.print_config, "Print the configuration and leave");
}

int run_with_config(const char* command, const ServerArguments& arguments, const ConfigUse& use) {
  const auto config = read_config(arguments, use);
  Status status;
  if (!config) {
    status = tl::unexpected(config.error());
  } else if (arguments.print_config) {
    std::fputs(use.print(*config).c_str(), stdout);
  } else {
    start_logging(config->server.log_format, config->server.log_level, config->server.log_lines);
    raise_descriptor_limit();
    use_thread_policy(config->server.thread_policy);
    status = use.run(*config);
  }
  if (status) return 0;
  complain(command, status.error());
  return 1;
}

}  // namespace volvox
