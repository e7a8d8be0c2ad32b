#include "loadgen/server/server_status.h"

#include <string_view>

#include "loadgen/server/http_get.h"

namespace volvox {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

// A page's models are NAME/VERSION; who asks for NAME means all its versions.
bool is_model(std::string_view label, const std::string& wanted) {
  return wanted.empty() || label == wanted || label.starts_with(wanted + "/");
}

}  // namespace

Result<ServerStatus> read_server_status(const std::string& base_url, Duration at_most) {
  ServerStatus status;
  status.url = http_base(base_url);
  const auto health = http_get(status.url + "/healthz", at_most);
  if (!health) return tl::unexpected(health.error());
  status.healthy = health->status == 200;
  const auto readiness = http_get(status.url + "/readyz", at_most);
  if (!readiness) return tl::unexpected(readiness.error());
  status.readiness = readiness->status == 200 ? "ready" : first_line(readiness->body);
  const auto metrics = http_get(status.url + "/metrics", at_most);
  if (!metrics) return tl::unexpected(metrics.error());
  if (metrics->status != 200)
    return fail(ErrorCode::kUnavailable, "no metrics at '" + status.url + "/metrics'");
  auto page = MetricsPage::parse(metrics->body);
  if (!page) return fail(ErrorCode::kInternal, status.url + "/metrics: " + page.error().message);
  status.page = std::move(*page);
  return status;
}

std::map<std::string, BatchCount> batch_counts(const MetricsPage& page, const std::string& model) {
  std::map<std::string, BatchCount> counts;
  const auto add = [&](std::string_view name, double BatchCount::*field) {
    for (const MetricSample* sample : page.all(name)) {
      if (!is_model(sample->label("model"), model)) continue;
      std::string type;
      if (model.empty()) type.append(sample->label("model")).append("/");
      type.append(sample->label("type"));
      counts[type].*field += sample->value;
    }
  };
  add("volvox_batch_rows_sum", &BatchCount::rows);
  add("volvox_batch_rows_count", &BatchCount::tasks);
  return counts;
}

std::map<std::string, double> mean_batch(const std::map<std::string, BatchCount>& before,
                                         const std::map<std::string, BatchCount>& after) {
  std::map<std::string, double> means;
  for (const auto& [type, count] : after) {
    const auto earlier = before.find(type);
    const BatchCount base = earlier == before.end() ? BatchCount{} : earlier->second;
    const double tasks = count.tasks - base.tasks;
    if (tasks > 0) means[type] = (count.rows - base.rows) / tasks;
  }
  return means;
}

}  // namespace volvox
