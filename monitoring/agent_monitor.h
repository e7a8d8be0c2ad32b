#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <prometheus/registry.h>

#include "base/error.h"
#include "monitoring/http/http_server.h"
#include "monitoring/metrics/agent_metrics.h"

namespace volvox {

// What people and machines watch of an agent of the load generator: the page /metrics. Calls from any thread,
// but listen().
class AgentMonitor {
 public:
  explicit AgentMonitor(std::string version) : version_(std::move(version)), metrics_(registry_) {}

  AgentMetrics& metrics() { return metrics_; }

  // Serves the page at "HOST:PORT" or "unix:PATH" until it is destroyed; at an empty address, nowhere.
  // PERMISSION_DENIED for one that other machines reach, where no file has tokens for those who may read it.
  Status listen(const std::string& address, const std::string& token_file);
  std::uint16_t port() const { return server_ ? server_->port() : 0; }  // 0: none, or a Unix socket

  // What the page shows, as of now.
  std::vector<prometheus::MetricFamily> families() const;

 private:
  const std::string version_;
  prometheus::Registry registry_;
  AgentMetrics metrics_;
  std::unique_ptr<HttpServer> server_;  // the last member: it uses the others
};

}  // namespace volvox
