#include "monitoring/metrics/model_requests.h"

#include <algorithm>
#include <iterator>

#include "monitoring/metrics/metric_families.h"

namespace volvox {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// What a model hardly ever answers, for doors have said it before: shown once it has happened.
bool is_for_doors(std::size_t outcome) {
  constexpr std::array kDoorsOwn{ErrorCode::kUnsupportedVersion, ErrorCode::kUnauthenticated,
                                 ErrorCode::kPermissionDenied};
  return std::find(kDoorsOwn.begin(), kDoorsOwn.end(), static_cast<ErrorCode>(outcome)) != kDoorsOwn.end();
}

void put_outcomes(MetricFamily& family, const ModelRequests& model, Door door) {
  const auto& outcomes = model.by(door).outcomes;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    if (outcomes[i] == 0 && is_for_doors(i)) continue;
    put(family, {{"door", to_string(door)}, {"model", model.model}, {"outcome", outcome_label(i)}},
        static_cast<double>(outcomes[i]));
  }
}

void put_durations(MetricFamily& family, const ModelRequests& model, Door door, const Durations& durations) {
  std::array<double, kDurationBounds.size()> bounds{};
  std::transform(kDurationBounds.begin(), kDurationBounds.end(), bounds.begin(),
                 [](std::uint64_t us) { return static_cast<double>(us) / 1e6; });
  put_histogram(family, {{"door", to_string(door)}, {"model", model.model}}, bounds, durations.counts,
                static_cast<double>(durations.sum_us) * kMicrosecond);
}

}  // namespace

std::vector<MetricFamily> model_request_metrics(const std::vector<ModelRequests>& models,
                                                std::span<const Door> doors) {
  Families families;
  constexpr auto kHistogram = MetricType::Histogram;
  auto& requests = families.add("volvox_model_requests_total",
                                "Requests that reached the model since it was loaded, by the door and by "
                                "what became of them; of a router, those that came through it.",
                                MetricType::Counter);
  auto& queue = families.add("volvox_model_queue_seconds",
                             "Of the model's requests that were answered with a result: from arrival until "
                             "the first cell was submitted.",
                             kHistogram);
  auto& compute = families.add(
      "volvox_model_compute_seconds",
      "Of the same requests: from the first cell's submission until the last one was done.", kHistogram);
  auto& total = families.add("volvox_model_request_seconds",
                             "Of the same requests: from arrival until the answer.", kHistogram);
  for (const ModelRequests& model : models) {
    for (const Door door : doors) {
      put_outcomes(requests, model, door);
      put_durations(queue, model, door, model.by(door).queue);
      put_durations(compute, model, door, model.by(door).compute);
      put_durations(total, model, door, model.by(door).total);
    }
  }
  return families.take();
}

}  // namespace volvox
