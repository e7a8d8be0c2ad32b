#pragma once

#include <deque>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

namespace volvox {

// For those who make their metrics when somebody asks: families in the order in which they were declared.
class Families {
 public:
  prometheus::MetricFamily& add(const char* name, const char* help, prometheus::MetricType type) {
    families_.push_back(prometheus::MetricFamily{name, help, type, {}});
    return families_.back();
  }
  std::vector<prometheus::MetricFamily> take() { return {families_.begin(), families_.end()}; }

 private:
  std::deque<prometheus::MetricFamily> families_;  // references stay valid
};

// Adds a counter or gauge, as the family says.
inline void put(prometheus::MetricFamily& family, const std::vector<prometheus::ClientMetric::Label>& labels,
                double value) {
  prometheus::ClientMetric metric;
  metric.label = labels;
  (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
}

}  // namespace volvox
