#include "monitoring/agent_monitor.h"

#include "config/addresses.h"
#include "config/validate.h"
#include "monitoring/metrics/metric_families.h"
#include "monitoring/metrics/process_metrics.h"
#include "monitoring/metrics_page.h"

namespace volvox {

Status AgentMonitor::listen(const AgentPage& page) {
  if (page.address.empty()) return {};
  auto setup = page_setup(page.address, page.token_file);
  if (!setup) return fail(setup.error().code, "--metrics: " + setup.error().message);
  if (!is_closed_http(page.address) && setup->rules.tokens.empty())
    return fail(ErrorCode::kPermissionDenied,
                "--metrics: '" + page.address +
                    "' is reached from beyond loopback: give those who may read the metrics a token, in a "
                    "file, by --metrics-token");
  setup->purpose = "--metrics";
  setup->rules.hosts = split_addresses(page.hosts);
  setup->rules.setting = "--metrics-";
  auto server =
      HttpServer::start(std::move(*setup), {{"/metrics", {[this] { return page_of(families()); }}}});
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  return {};
}

std::vector<prometheus::MetricFamily> AgentMonitor::families() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  append(families, process_metrics(version_));
  return families;
}

}  // namespace volvox
