#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <span>
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

inline void append(std::vector<prometheus::MetricFamily>& to, std::vector<prometheus::MetricFamily> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Adds a counter or gauge, as the family says.
inline void put(prometheus::MetricFamily& family, const std::vector<prometheus::ClientMetric::Label>& labels,
                double value) {
  prometheus::ClientMetric metric;
  metric.label = labels;
  (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
}

// Adds a histogram: the upper ends of its buckets, how many are in each, and in one more without an end.
inline void put_histogram(prometheus::MetricFamily& family,
                          const std::vector<prometheus::ClientMetric::Label>& labels,
                          std::span<const double> bounds, std::span<const std::uint64_t> counts, double sum) {
  prometheus::ClientMetric metric;
  metric.label = labels;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    count += counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({count, bound});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = sum;
  family.metric.push_back(std::move(metric));
}

}  // namespace volvox
