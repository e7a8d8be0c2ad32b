#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace volvox {

// What has become of one model version's requests since it was loaded: sums that live with the model and are
// copied only when somebody asks for /metrics.
struct ModelRequests {
  std::string model;  // "lstm/1"
  std::uint64_t ok = 0, failed = 0;
  double queue_seconds = 0, compute_seconds = 0, total_seconds = 0;  // of those that are ok
};

// Any thread.
using ModelRequestsSource = std::function<std::vector<ModelRequests>()>;

// The metrics volvox_model_requests_total and volvox_model_{queue,compute,request}_seconds_total.
std::vector<prometheus::MetricFamily> model_request_metrics(const std::vector<ModelRequests>& models);

}  // namespace volvox
