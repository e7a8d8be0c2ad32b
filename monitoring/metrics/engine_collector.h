#pragma once

#include <functional>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include "monitoring/metrics/engine_snapshot.h"

namespace volvox {

// Asks the devices for their state. Called by an HTTP thread; may block for a moment. A device that does not
// answer in time is left out.
using EngineSource = std::function<std::vector<EngineSnapshot>()>;

// Turns snapshots into metric families when Prometheus asks, so that live gauges are as of now.
class EngineCollector : public prometheus::Collectable {
 public:
  explicit EngineCollector(EngineSource source);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  EngineSource source_;
};

}  // namespace volvox
