#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/config_options.h"

namespace volvox {

// What the command lines of a server, a node and a router have in common.
struct ServerArguments {
  std::string config_file, port_file;
  bool print_config = false;
  std::shared_ptr<ConfigChanges> changes = std::make_shared<ConfigChanges>();
};

// Adds --config, --port-file and --print-config.
void add_server_options(CLI::App& command, ServerArguments& arguments, const char* port_file_help);

// What a command makes of its configuration.
struct ConfigUse {
  std::function<Result<ClusterConfig>(const std::filesystem::path& file)> load;
  std::function<Status(ClusterConfig& config)> fit;  // before it is checked; may be empty
  std::function<Status(const ClusterConfig& config)> check;
  std::function<std::string(const ClusterConfig& config)> print;
  std::function<Status(const ClusterConfig& config)> run;
};

// The file, what the command line changes of it, and then what is to be done with it. The exit status; an
// error is said under the command's name.
int run_with_config(const char* command, const ServerArguments& arguments, const ConfigUse& use);

}  // namespace volvox
