#include "cli/server/descriptors.h"

#include <algorithm>
#include <cstdint>

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "monitoring/metrics/process_metrics.h"
#include "serving/descriptor_budget.h"

namespace volvox {
namespace {

// For sockets that listen, threads that are woken, models that come, and links to routers.
constexpr std::uint64_t kOwn = 40;
constexpr std::uint64_t kAdmin = 17;  // connections, and one that is turned away
// A request over HTTP that has come whole goes on over a connection inside the process.
constexpr std::uint64_t kEndsOfRequest = 2;
constexpr std::uint64_t kInside = 8;  // of all descriptors, one in so many at most is kept for these
constexpr std::uint64_t kLeast = 8;   // that the bounds of these doors may say

// Says so where a door has less than it wishes.
void grant(std::uint32_t& wish, std::uint64_t bound, const char* setting) {
  if (bound >= wish) return;
  spdlog::warn(
      "{} is {} instead of {}: the process may not open more descriptors; raise its limit (LimitNOFILE)",
      setting, bound, wish);
  wish = static_cast<std::uint32_t>(bound);
}

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (before < limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  spdlog::info("file descriptors: at most {} (at the start {})", limit.rlim_cur, before);
}

void fit_doors(ClusterConfig& config, bool routes) {
  const DescriptorUse use = descriptor_use();
  DoorBounds wishes;
  wishes.clients = config.limits.max_connections;
  const std::uint64_t inside =
      config.http.listen.empty()
          ? 0
          : std::min<std::uint64_t>(kEndsOfRequest * config.http.max_requests, use.limit / kInside);
  wishes.http = config.http.listen.empty() ? 0 : config.http.max_connections;
  const int monitor_doors = (config.server.metrics.empty() ? 0 : 1) + (config.server.probes.empty() ? 0 : 1);
  wishes.monitor = static_cast<std::uint64_t>(monitor_doors) * config.server.max_monitor_connections;
  wishes.cluster = routes ? config.cluster.max_connections : 0;
  wishes.admin = config.admin.socket.empty() ? 0 : kAdmin;
  const DoorBounds bounds = split_descriptors(use.limit, use.open + kOwn + inside, wishes);
  grant(config.limits.max_connections, bounds.clients, "limits.max_connections");
  if (wishes.http != 0)
    grant(config.http.max_connections, std::max(kLeast, bounds.http), "http.max_connections");
  if (monitor_doors != 0)
    grant(config.server.max_monitor_connections,
          std::max(kLeast, bounds.monitor / static_cast<std::uint64_t>(monitor_doors)),
          "server.max_monitor_connections");
  if (routes) grant(config.cluster.max_connections, bounds.cluster, "cluster.max_connections");
}

}  // namespace volvox
