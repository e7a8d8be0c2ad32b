#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include "base/error.h"
#include "monitoring/http/http_server.h"
#include "monitoring/metrics/agent_metrics.h"

namespace volvox {

// Where an agent's page is, and who may read it.
struct AgentPage {
  std::string address;     // "HOST:PORT" or "unix:PATH"; empty: nowhere
  std::string token_file;  // with the tokens of its readers; empty: they need none
  std::string hosts;  // names by which they call it, with commas, besides localhost and what it is bound to
};

// What people and machines watch of an agent of the load generator: the page /metrics. Calls from any thread,
// but listen().
class AgentMonitor {
 public:
  explicit AgentMonitor(std::string version) : version_(std::move(version)), metrics_(registry_) {}

  AgentMetrics& metrics() { return metrics_; }

  // Serves the page until it is destroyed. PERMISSION_DENIED at an address that other machines reach without
  // tokens.
  Status listen(const AgentPage& page);
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
