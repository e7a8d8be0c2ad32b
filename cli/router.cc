#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <spdlog/spdlog.h>

#include "actors/router_server.h"
#include "cli/cluster_commands.h"
#include "cli/descriptors.h"
#include "cli/port_file.h"
#include "cli/stop_watch.h"
#include "config/load.h"
#include "config/validate.h"
#include "monitoring/logging.h"

namespace volvox {
namespace {

struct RouterArguments {
  std::string config_file, port_file;
  std::optional<std::string> name, cluster, listen, cluster_listen, metrics, http, admin;
  std::optional<std::string> server_key, clients, certificate, key, authority;
  bool insecure = false, open = false;
};

Result<ClusterConfig> read_config(const RouterArguments& arguments) {
  ClusterConfig config;
  if (!arguments.config_file.empty()) {
    auto loaded = load_cluster_config(arguments.config_file);
    if (!loaded) return loaded;
    config = std::move(*loaded);
  }
  if (arguments.name) config.server.name = *arguments.name;
  if (arguments.cluster) config.cluster.name = *arguments.cluster;
  if (arguments.listen) config.server.listen = *arguments.listen;
  if (arguments.cluster_listen) config.cluster.listen = *arguments.cluster_listen;
  if (arguments.insecure) config.cluster.insecure = true;
  if (arguments.open) leave_doors_open(config);
  if (arguments.metrics) config.server.metrics = *arguments.metrics;
  if (arguments.http) config.http.listen = *arguments.http;
  if (arguments.admin) config.admin.socket = *arguments.admin;
  if (arguments.server_key) config.security.server_key = *arguments.server_key;
  if (arguments.clients) config.security.clients = *arguments.clients;
  if (arguments.certificate) config.cluster.tls_certificate = *arguments.certificate;
  if (arguments.key) config.cluster.tls_key = *arguments.key;
  if (arguments.authority) config.cluster.tls_ca = *arguments.authority;
  if (const Status valid = validate(config); !valid) return tl::unexpected(valid.error());
  return config;
}

Status route(ClusterConfig config, const std::string& port_file) {
  StopWatch stop(config.server);  // before the first other thread
  if (config.cluster.insecure && config.cluster.tls_ca.empty())
    spdlog::warn("cluster.insecure: links to nodes are neither encrypted nor proven; trust the network");
  fit_doors(config, true);
  Monitor monitor(VOLVOX_VERSION);
  auto router = RouterServer::start(config, monitor, stop.hooks());
  if (!router) return tl::unexpected(router.error());
  const auto at = [](const std::string& listen, std::uint16_t port) {
    return parse_host_port(listen)->host + ":" + std::to_string(port);
  };
  const auto page = [&](const std::string& listen, std::uint16_t port) {
    if (listen.empty() || listen.starts_with("unix:")) return listen;
    return "http://" + at(listen, port);
  };
  const std::string metrics = page(config.server.metrics, (*router)->metrics_port());
  const std::string http = page(config.http.listen, (*router)->http_port());
  const std::string nodes = at(config.cluster.listen, (*router)->cluster_port());
  if (!port_file.empty()) {
    Status written = write_port_file(
        port_file, (*router)->endpoint() + "\n" + metrics + "\n" + nodes + "\n" + http + "\n");
    if (!written) return written;
  }
  const std::string admin = (*router)->admin_path();
  const auto or_none = [](const std::string& address) { return address.empty() ? "-" : address.c_str(); };
  std::printf("volvox router ready at %s metrics %s nodes %s http %s admin %s\n",
              (*router)->endpoint().c_str(), or_none(metrics), nodes.c_str(), or_none(http), or_none(admin));
  std::fflush(stdout);
  return run_until_stopped(stop, std::move(*router), config.server);
}

int run_router(const RouterArguments& arguments) {
  const auto config = read_config(arguments);
  Status status;
  if (config) {
    start_logging(config->server.log_format, config->server.log_level, config->server.log_lines);
    raise_descriptor_limit();
    status = route(*config, arguments.port_file);
  } else {
    status = tl::unexpected(config.error());
  }
  if (status) return 0;
  complain("router", status.error());
  return 1;
}

}  // namespace

void add_router_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<RouterArguments>();
  CLI::App* command = app.add_subcommand(
      "router", "Spreads clients' requests over the nodes that dial in, until it is told to stop");
  command->add_option("--config", arguments->config_file, "TOML file with everything that can be set");
  command->add_option(
      "--port-file", arguments->port_file,
      "Write the bound endpoint, the monitoring address, where nodes dial and the HTTP address there, one a "
      "line");
  command->add_option("--name", arguments->name, "The router's name, in replies and logs");
  command->add_option("--cluster", arguments->cluster, "The cluster's name");
  command->add_option("--listen", arguments->listen, "Where clients connect: tcp://HOST:PORT");
  command->add_option("--cluster-listen", arguments->cluster_listen, "Where nodes dial: HOST:PORT");
  command->add_option("--server-key", arguments->server_key,
                      "File with the router's secret key: encrypts the clients' connections");
  command->add_option("--clients", arguments->clients,
                      "Folder with the public keys of clients that may speak; *: all that know the router's");
  command->add_option("--tls-certificate", arguments->certificate,
                      "PEM file: by which nodes know the router");
  command->add_option("--tls-key", arguments->key, "PEM file: the certificate's key");
  command->add_option("--tls-ca", arguments->authority, "PEM file: who signs the cluster's certificates");
  command->add_flag("--insecure-cluster", arguments->insecure,
                    "Take nodes beyond loopback, over links that are not encrypted");
  command->add_flag("--insecure-doors", arguments->open,
                    "Let whoever reaches its doors in, by addresses beyond loopback, too");
  command->add_option("--metrics", arguments->metrics, "Where monitoring answers: HOST:PORT");
  command->add_option("--http", arguments->http,
                      "Where the Open Inference Protocol v2 answers: HOST:PORT; empty: nowhere");
  command->add_option("--admin", arguments->admin, "Admin socket; auto: by the port; empty: nowhere");
  command->callback([arguments, &run] { run = [arguments] { return run_router(*arguments); }; });
}

}  // namespace volvox
