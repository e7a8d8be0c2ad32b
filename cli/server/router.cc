#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <spdlog/spdlog.h>

#include "actors/process/router_server.h"
#include "cli/admin/cluster_commands.h"
#include "cli/server/descriptors.h"
#include "cli/server/port_file.h"
#include "cli/server/ready_line.h"
#include "cli/server/server_command.h"
#include "cli/server/stop_watch.h"
#include "config/load.h"
#include "config/validate.h"
#include "monitoring/log/logging.h"

namespace volvox {
namespace {

Status route(ClusterConfig config, const std::string& port_file) {
  StopWatch stop(config.server);  // before the first other thread
  if (config.cluster.insecure && config.cluster.tls_ca.empty())
    spdlog::warn("cluster.insecure: links to nodes are neither encrypted nor proven; trust the network");
  fit_doors(config, true);
  Monitor monitor(VOLVOX_VERSION);
  auto router = RouterServer::start(config, monitor, stop.hooks());
  if (!router) return tl::unexpected(router.error());
  const std::string metrics = http_address(config.server.metrics, (*router)->metrics_port());
  const std::string http = http_address(config.http.listen, (*router)->http_port());
  const std::string nodes =
      parse_host_port(config.cluster.listen)->host + ":" + std::to_string((*router)->cluster_port());
  if (!port_file.empty()) {
    Status written = write_port_file(
        port_file, (*router)->endpoint() + "\n" + metrics + "\n" + nodes + "\n" + http + "\n");
    if (!written) return written;
  }
  const std::string admin = (*router)->admin_path();
  say_ready("volvox router ready at " + (*router)->endpoint() + " metrics " + or_none(metrics) + " nodes " +
            nodes + " http " + or_none(http) + " admin " + or_none(admin));
  return run_until_stopped(stop, std::move(*router), config.server);
}

int run_router(const ServerArguments& arguments) {
  ConfigUse use;
  use.load = load_cluster_config;
  use.check = [](const ClusterConfig& config) { return validate(config); };
  use.print = [](const ClusterConfig& config) { return to_toml(config); };
  use.run = [&arguments](const ClusterConfig& config) { return route(config, arguments.port_file); };
  return run_with_config("router", arguments, use);
}

void add_options(ConfigOptions add) {
  const auto server = &ServeConfig::server;
  const auto cluster = &ClusterConfig::cluster;
  add.value("--name NAME", "The router's name, in replies and logs", server, &ServerSection::name);
  add.value("--cluster NAME", "The cluster's name", cluster, &ClusterSection::name);
  add.value("--listen ADDRESS", "Where clients connect: tcp://HOST:PORT", server, &ServerSection::listen);
  add.value("--cluster-listen ADDRESS", "Where nodes dial: HOST:PORT", cluster, &ClusterSection::listen);
  add.value("--metrics ADDRESS", "Where monitoring answers: HOST:PORT", server, &ServerSection::metrics);
  add.value("--http ADDRESS", "Where the Open Inference Protocol v2 answers: HOST:PORT; empty: nowhere",
            &ServeConfig::http, &HttpSection::listen);
  add.value("--server-key FILE", "File with the router's secret key: encrypts the clients' connections",
            &ServeConfig::security, &SecuritySection::server_key);
  add.value("--clients FOLDER",
            "Folder with the public keys of clients that may speak; *: all that know the router's",
            &ServeConfig::security, &SecuritySection::clients);
  add.value("--tls-certificate FILE", "PEM file: by which nodes know the router", cluster,
            &ClusterSection::tls_certificate);
  add.value("--tls-key FILE", "PEM file: the certificate's key", cluster, &ClusterSection::tls_key);
  add.value("--tls-ca FILE", "PEM file: who signs the cluster's certificates", cluster,
            &ClusterSection::tls_ca);
  add.flag("--insecure-cluster", "Take nodes beyond loopback, over links that are not encrypted",
           [](ClusterConfig& config) { config.cluster.insecure = true; });
  add.flag("--insecure-doors", "Let whoever reaches its doors in, by addresses beyond loopback, too",
           leave_doors_open);
  add.value("--drain-timeout-ms MS", "Time for requests in flight when it is told to stop", server,
            &ServerSection::drain_timeout_ms);
  add.choice("--log-level", "How much to say on standard error", server, &ServerSection::log_level);
  add.choice("--log-format", "Text for people, or JSON for programs", server, &ServerSection::log_format);
  add.value("--admin SOCKET", "Admin socket; auto: by the port; empty: nowhere", &ServeConfig::admin,
            &AdminSection::socket);
}

}  // namespace

void add_router_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<ServerArguments>();
  CLI::App* command = app.add_subcommand(
      "router", "Spreads clients' requests over the nodes that dial in, until it is told to stop");
  add_server_options(
      *command, *arguments,
      "Write the bound endpoint, the monitoring address, where nodes dial and the HTTP address "
      "there, one a line");
  add_options(ConfigOptions(*command, arguments->changes));
  command->callback([arguments, &run] { run = [arguments] { return run_router(*arguments); }; });
}

}  // namespace volvox
