#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include "monitoring/metrics/cpu_shares.h"
#include "monitoring/metrics/engine_snapshot.h"

namespace volvox {

// Asks the devices for their state. Called by an HTTP thread; may block for a moment. A device that does not
// answer in time is left out.
using EngineSource = std::function<std::vector<EngineSnapshot>()>;

// Turns snapshots into metric families when Prometheus asks, so that live gauges are as of now. Remembers
// what counters must not fall below. Any thread.
class EngineCollector : public prometheus::Collectable {
 public:
  explicit EngineCollector(EngineSource source);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  EngineSource source_;
  mutable std::mutex mutex_;  // held while the devices are asked: answers are taken in their order
  mutable CpuShares cpu_;
};

}  // namespace volvox
