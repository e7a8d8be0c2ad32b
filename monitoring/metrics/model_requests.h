#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "base/door.h"
#include "monitoring/metrics/durations.h"
#include "monitoring/metrics/outcomes.h"

namespace volvox {

// What has become of one model version's requests since it was loaded: sums that live with the model and are
// copied only when somebody asks for /metrics.
struct ModelRequests {
  struct ByDoor {
    std::array<std::uint64_t, kOutcomes> outcomes{};
    Durations queue, compute, total;  // of those that are ok
  };

  std::string model;  // "lstm/1"
  std::array<ByDoor, kDoors.size()> doors;

  ByDoor& by(Door door) { return doors[static_cast<std::size_t>(door)]; }
  const ByDoor& by(Door door) const { return doors[static_cast<std::size_t>(door)]; }
};

// Any thread.
using ModelRequestsSource = std::function<std::vector<ModelRequests>()>;

// The metrics volvox_model_requests_total and volvox_model_{queue,compute,request}_seconds, by these doors.
std::vector<prometheus::MetricFamily> model_request_metrics(const std::vector<ModelRequests>& models,
                                                            std::span<const Door> doors);

}  // namespace volvox
