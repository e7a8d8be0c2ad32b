#include "monitoring/agent_monitor.h"

#include <iterator>
#include <utility>

#include "config/addresses.h"
#include "monitoring/metrics/process_metrics.h"
#include "monitoring/metrics_page.h"

namespace volvox {

Status AgentMonitor::listen(const std::string& address, const std::string& token_file) {
  if (address.empty()) return {};
  auto setup = page_setup(address, token_file);
  if (!setup) return tl::unexpected(setup.error());
  const bool closed = !setup->address.path.empty() || is_loopback(setup->address.tcp.host);
  if (!closed && setup->rules.tokens.empty())
    return fail(ErrorCode::kPermissionDenied,
                "'" + address +
                    "' is reached from beyond loopback: give those who may read the metrics a "
                    "token, in a file, by --metrics-token");
  setup->purpose = "--metrics";
  setup->rules.setting = "--metrics-";
  auto server =
      HttpServer::start(std::move(*setup), {{"/metrics", {[this] { return page_of(families()); }}}});
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  return {};
}

std::vector<prometheus::MetricFamily> AgentMonitor::families() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  std::vector<prometheus::MetricFamily> process = process_metrics(version_);
  families.insert(families.end(), std::make_move_iterator(process.begin()),
                  std::make_move_iterator(process.end()));
  return families;
}

}  // namespace volvox
