#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace volvox {

// One line of a metrics page: volvox_batch_rows_sum{type="lstm"} 1200
struct MetricSample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;

  // The label's value; empty if there is none.
  std::string_view label(std::string_view key) const;
};

// By how much a counter grew between two readings. One that is smaller than before began anew, with its
// process.
inline double counter_growth(double now, double before) {
  return now >= before ? now - before : now;
}

// A page in Prometheus' text format (version 0.0.4), as a server shows it at /metrics. Types, help and time
// stamps are not kept. Immutable after parse(): any thread.
class MetricsPage {
 public:
  // INVALID_ARGUMENT with the line's number if the text is not of that format.
  static Result<MetricsPage> parse(std::string_view text);

  const std::vector<MetricSample>& samples() const { return samples_; }

  // All samples of that name, in the page's order.
  std::vector<const MetricSample*> all(std::string_view name) const;

  // The sum over all samples of that name; nothing if there is none.
  std::optional<double> sum(std::string_view name) const;

  // The sums by the value of one label.
  std::map<std::string, double> sum_by(std::string_view name, std::string_view label) const;

 private:
  std::vector<MetricSample> samples_;
};

}  // namespace volvox
