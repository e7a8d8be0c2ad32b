#include "monitoring/model_requests.h"

#include "monitoring/metric_families.h"

namespace volvox {

std::vector<prometheus::MetricFamily> model_request_metrics(const std::vector<ModelRequests>& models) {
  Families families;
  constexpr auto kCounter = prometheus::MetricType::Counter;
  auto& requests = families.add("volvox_model_requests_total",
                                "Requests that reached the model, by what became of them.", kCounter);
  auto& queue =
      families.add("volvox_model_queue_seconds_total",
                   "Time that the model's answered requests waited for their first task.", kCounter);
  auto& compute = families.add("volvox_model_compute_seconds_total",
                               "Time from their first task to their last one.", kCounter);
  auto& total = families.add("volvox_model_request_seconds_total", "Time from their arrival to their answer.",
                             kCounter);
  for (const ModelRequests& model : models) {
    put(requests, {{"model", model.model}, {"outcome", "ok"}}, static_cast<double>(model.ok));
    put(requests, {{"model", model.model}, {"outcome", "failed"}}, static_cast<double>(model.failed));
    put(queue, {{"model", model.model}}, model.queue_seconds);
    put(compute, {{"model", model.model}}, model.compute_seconds);
    put(total, {{"model", model.model}}, model.total_seconds);
  }
  return families.take();
}

}  // namespace volvox
