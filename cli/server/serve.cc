#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "actors/node/model_source.h"
#include "actors/process/server.h"
#include "cli/admin/cluster_commands.h"
#include "cli/commands.h"
#include "cli/server/descriptors.h"
#include "cli/server/free_ports.h"
#include "cli/server/make_devices.h"
#include "cli/server/port_file.h"
#include "cli/server/ready_line.h"
#include "cli/server/server_command.h"
#include "cli/server/stop_watch.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/validate.h"
#include "monitoring/log/logging.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

Status fit_node(const ClusterConfig& config) {
  if (!config.cluster.routers.empty()) return {};
  return invalid("cluster.routers is empty; name the routers with --routers HOST:PORT,…");
}

struct Addresses {
  std::string endpoint, metrics, http, admin;
};

Status serve(ClusterConfig config, const std::string& port_file) {
  StopWatch stop(config.server);  // before the first other thread
  if (Status free = check_ports_are_free(config); !free) return free;
  const auto devices = make_devices(config.device, stop);
  if (!devices) return tl::unexpected(devices.error());
  auto repository = load_repository(config, devices->front()->folding());
  if (!repository) return tl::unexpected(repository.error());
  fit_doors(config, false);
  Monitor monitor(VOLVOX_VERSION);
  for (std::uint32_t i = 0; i < repository->skipped; ++i) monitor.models().loaded(false);
  auto server =
      Server::start(config, *devices, repository->models, monitor, {}, config.cluster, stop.hooks());
  if (!server) return tl::unexpected(server.error());
  const Addresses addresses{
      (*server)->endpoint(), http_address(config.server.metrics, (*server)->metrics_port()),
      http_address(config.http.listen, (*server)->http_port()), (*server)->admin_path()};
  if (!port_file.empty()) {
    if (Status written = write_port_file(
            port_file, addresses.endpoint + "\n" + addresses.metrics + "\n" + addresses.http + "\n");
        !written)
      return written;
  }
  say_ready("volvox ready at " + addresses.endpoint + " metrics " + or_none(addresses.metrics) + " http " +
            or_none(addresses.http) + " models " + std::to_string(repository->models.size()) + " admin " +
            or_none(addresses.admin));
  return run_until_stopped(stop, std::move(*server), config.server);
}

ConfigUse use_alone(const ServerArguments& arguments) {
  ConfigUse use;
  use.load = [](const std::filesystem::path& file) -> Result<ClusterConfig> {
    auto config = load_config(file);
    if (!config) return tl::unexpected(std::move(config).error());
    return ClusterConfig{std::move(*config), {}};
  };
  use.check = [](const ClusterConfig& config) { return validate(static_cast<const ServeConfig&>(config)); };
  use.print = [](const ClusterConfig& config) { return to_toml(static_cast<const ServeConfig&>(config)); };
  use.run = [&arguments](const ClusterConfig& config) { return serve(config, arguments.port_file); };
  return use;
}

ConfigUse use_in_cluster(const ServerArguments& arguments) {
  ConfigUse use = use_alone(arguments);
  use.load = load_cluster_config;
  use.fit = fit_node;
  use.check = [](const ClusterConfig& config) { return validate(config); };
  use.print = [](const ClusterConfig& config) { return to_toml(config); };
  return use;
}

void add_overrides(ConfigOptions add) {
  add.flag("--insecure-doors", "Let whoever reaches them in, by addresses beyond loopback, too",
           leave_doors_open);
  const auto server = &ServeConfig::server;
  const auto device = &ServeConfig::device;
  const auto batching = &ServeConfig::batching;
  add.value("--models FOLDER", "Folder of the model repository", server, &ServerSection::models);
  add.value("--listen ADDRESS", "Where clients connect: tcp://HOST:PORT", server, &ServerSection::listen);
  add.value("--metrics ADDRESS", "Where monitoring answers: HOST:PORT", server, &ServerSection::metrics);
  add.value("--http ADDRESS", "Where the Open Inference Protocol v2 answers: HOST:PORT; empty: nowhere",
            &ServeConfig::http, &HttpSection::listen);
  add.value("--server-key FILE", "File with the server's secret key: encrypts the clients' connections",
            &ServeConfig::security, &SecuritySection::server_key);
  add.value("--clients FOLDER",
            "Folder with the public keys of clients that may speak; *: all that know the server's",
            &ServeConfig::security, &SecuritySection::clients);
  add.choice("--bad-models", "Models that cannot be loaded: end, or serve the others", server,
             &ServerSection::bad_models);
  add.value("--drain-timeout-ms MS", "Time for requests in flight when it is told to stop", server,
            &ServerSection::drain_timeout_ms);
  add.value("--actor-threads COUNT", "Threads of request and manager actors", server,
            &ServerSection::actor_threads);
  add.choice("--log-level", "How much to say on standard error", server, &ServerSection::log_level);
  add.choice("--log-format", "Text for people, or JSON for programs", server, &ServerSection::log_format);
  add.value("--admin SOCKET", "Admin socket; auto: by the port; empty: nowhere", &ServeConfig::admin,
            &AdminSection::socket);
  add.choice("--device", "What computes", device, &DeviceSection::kind);
  add.choice("--isa", "Instructions of the CPU's kernels", device, &DeviceSection::isa);
  add.value("--threads COUNT", "Compute threads of each queue; 0: all cores", device,
            &DeviceSection::compute_threads);
  add.value("--devices COUNT", "Devices to compute on; 0: all GPUs", device, &DeviceSection::count);
  add.value("--queues COUNT", "Queues of each device", device, &DeviceSection::queues);
  add.value("--state-mib MIB", "Memory of each device for states", device, &DeviceSection::state_mib);
  add.choice("--precision", "How a GPU computes products", device, &DeviceSection::precision);
  add.choice("--reproducible", "On a GPU: the same bits whatever the batch size", device,
             &DeviceSection::reproducible);
  add.choice("--policy", "What runs next", batching, &BatchingSection::policy);
  add.value("--max-batch ROWS", "Rows of one task, at most; 0: as the models say", batching,
            &BatchingSection::max_batch);
  add.value("--bucket-width STEPS", "Padded: lengths that share a bucket", batching,
            &BatchingSection::bucket_width);
  add.value("--window REQUESTS", "Depth, agenda: requests that are merged", batching,
            &BatchingSection::window);
  add.choice("--eager", "Compute what depends on the input alone ahead", batching, &BatchingSection::eager);
  add.value("--max-tasks COUNT", "Tasks ahead of a queue", batching, &BatchingSection::max_tasks_to_submit);
}

}  // namespace

namespace {

CLI::App* add_server(CLI::App& app, CommandBody& run, const char* name, const char* help,
                     const std::shared_ptr<ServerArguments>& arguments,
                     ConfigUse (*use)(const ServerArguments&)) {
  CLI::App* command = app.add_subcommand(name, help);
  add_server_options(
      *command, *arguments,
      "Write the bound endpoint, the monitoring and the HTTP address there, one a line, once ready");
  add_overrides(ConfigOptions(*command, arguments->changes));
  command->callback([=, &run] { run = [=] { return run_with_config(name, *arguments, use(*arguments)); }; });
  return command;
}

}  // namespace

void add_serve_command(CLI::App& app, CommandBody& run) {
  add_server(app, run, "serve", "Serves the models of a repository until it is told to stop",
             std::make_shared<ServerArguments>(), use_alone);
}

void add_node_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<ServerArguments>();
  CLI::App* command =
      add_server(app, run, "node", "As serve, and runs the requests that the routers of a cluster send",
                 arguments, use_in_cluster);
  ConfigOptions add(*command, arguments->changes);
  add.value("--name NAME", "The node's name, which no other node has", &ServeConfig::server,
            &ServerSection::name);
  add.value("--cluster NAME", "The cluster's name", &ClusterConfig::cluster, &ClusterSection::name);
  add.value("--routers ADDRESSES", "The routers to dial: HOST:PORT,…", &ClusterConfig::cluster,
            &ClusterSection::routers);
  add.value("--tls-certificate FILE", "PEM file: by which routers know the node", &ClusterConfig::cluster,
            &ClusterSection::tls_certificate);
  add.value("--tls-key FILE", "PEM file: the certificate's key", &ClusterConfig::cluster,
            &ClusterSection::tls_key);
  add.value("--tls-ca FILE", "PEM file: who signs the cluster's certificates", &ClusterConfig::cluster,
            &ClusterSection::tls_ca);
}

}  // namespace volvox
