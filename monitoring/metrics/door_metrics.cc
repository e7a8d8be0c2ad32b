#include "monitoring/metrics/door_metrics.h"

#include "monitoring/metrics/single_metrics.h"

namespace volvox {
namespace {

prometheus::Family<prometheus::Counter>& family(prometheus::Registry& registry, const char* name,
                                                const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

}  // namespace

DoorMetrics::DoorMetrics(prometheus::Registry& registry)
    : connections_(single_gauge(registry, "volvox_connections",
                                "Connections at server.listen, of limits.max_connections.")),
      receiving_bytes_(single_gauge(
          registry, "volvox_receiving_bytes",
          "Bytes of requests that come in or wait to be looked at, of limits.max_receiving_mib.")) {
  auto& refused = family(
      registry, "volvox_connections_refused_total",
      "Connections at server.listen refused, for there were too many: all, from one address, with one key.");
  auto& closed = family(registry, "volvox_connections_closed_total",
                        "Connections at server.listen closed: they held most when too much was unfinished, "
                        "sent an oversized message, were idle.");
  auto& failures = family(registry, "volvox_accept_failures_total",
                          "Times that no connection could be accepted for want of descriptors or memory; "
                          "tried again after 100 ms.");
  std::size_t at = 0;
  const auto follow = [&](auto& of, const prometheus::Labels& labels, std::uint64_t DoorCounts::*count) {
    followers_[at++] = {&of.Add(labels), count};
  };
  follow(refused, {{"bound", "all"}}, &DoorCounts::refused_full);
  follow(refused, {{"bound", "address"}}, &DoorCounts::refused_address);
  follow(refused, {{"bound", "key"}}, &DoorCounts::refused_key);
  follow(closed, {{"reason", "unfinished"}}, &DoorCounts::closed_unfinished);
  follow(closed, {{"reason", "oversized"}}, &DoorCounts::closed_oversized);
  follow(closed, {{"reason", "idle"}}, &DoorCounts::closed_idle);
  follow(failures, {}, &DoorCounts::accept_failures);
}

void DoorMetrics::set(const DoorCounts& counts) {
  connections_.Set(static_cast<double>(counts.connections));
  receiving_bytes_.Set(static_cast<double>(counts.receiving_bytes));
  for (const Follower& follower : followers_)
    follow(*follower.counter, before_.*follower.count, counts.*follower.count);
  before_ = counts;
}

}  // namespace volvox
