#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "actors/node/model_host.h"
#include "actors/node/node.h"
#include "actors/process/process_hooks.h"
#include "base/error.h"
#include "base/time.h"
#include "cells/model/model.h"
#include "config/cluster.h"
#include "config/schema.h"
#include "device/device.h"
#include "monitoring/monitor.h"

namespace volvox {

// What one process serves: the house from the gateway to the device, put together. The embedded default: a
// cluster of one node. Owned and called by one thread.
class Server {
 public:
  // Installs the models on each of the devices, which are alike, and starts everything; clients are served
  // when it returns. The monitor must outlive the server; its pages are served, too, if the configuration
  // names an address for them. With cluster.routers it is a node of that cluster, too.
  static Result<std::unique_ptr<Server>> start(const ServeConfig& config,
                                               std::span<const std::shared_ptr<Device>> devices,
                                               std::span<const std::shared_ptr<const Model>> models,
                                               Monitor& monitor, FaultHooks faults = {},
                                               const ClusterSection& cluster = {}, ProcessHooks hooks = {});
  // Stops at once: requests in flight are answered UNAVAILABLE.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The address that clients connect to, and the ports of the monitoring pages and of HTTP (0: none).
  const std::string& endpoint() const;
  std::uint16_t metrics_port() const;
  std::uint16_t http_port() const;
  // Where the operator's socket is; empty: nowhere.
  std::string admin_path() const;
  // What is served, and how to change it.
  ModelHost& models();

  // /readyz says no, new requests are refused UNAVAILABLE; those in flight may end within `timeout`, the rest
  // is answered UNAVAILABLE. True: all ended by themselves. The server serves nothing afterwards.
  // A node of a cluster tells its routers first, and leaves them last.
  // Replies have half of server.stop_timeout_ms after that to be read.
  bool drain(Duration timeout);
  // Requests that were accepted and have no answer yet; those of routers too, until the node has left them.
  // Any thread, during drain() too.
  std::size_t unanswered() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace volvox
