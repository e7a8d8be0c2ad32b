#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/process/process_hooks.h"
#include "actors/work/work.h"
#include "base/error.h"
#include "base/time.h"
#include "config/cluster.h"
#include "monitoring/monitor.h"

namespace volvox {

// Where tests make the router's actor fail, which may throw; empty in production.
using RouterFault = std::function<void(const IncomingRequest&)>;

// One process at the edge of a cluster: the doors for clients, and the place where nodes dial in; nothing
// computes here. Owned and called by one thread.
class RouterServer {
 public:
  // Clients and nodes are served when it returns. The monitor must outlive it.
  static Result<std::unique_ptr<RouterServer>> start(const ClusterConfig& config, Monitor& monitor,
                                                     ProcessHooks hooks = {}, RouterFault fault = {});
  // Stops at once: requests in flight are answered UNAVAILABLE.
  ~RouterServer();
  RouterServer(const RouterServer&) = delete;
  RouterServer& operator=(const RouterServer&) = delete;

  const std::string& endpoint() const;
  std::uint16_t cluster_port() const;
  std::uint16_t metrics_port() const;
  std::uint16_t http_port() const;  // 0: none
  std::string admin_path() const;   // as Server::admin_path

  // As Server's.
  bool drain(Duration timeout);
  std::size_t unanswered() const;

 private:
  class Impl;
  explicit RouterServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace volvox
