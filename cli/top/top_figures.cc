#include "cli/top/top_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace volvox {
namespace {

// What each bucket's counter grew by, by its upper end. They are cumulative, as the page has them.
std::map<double, double> grown_buckets(std::span<const TopSight* const> sights,
                                       const std::string& histogram) {
  std::map<double, double> buckets;
  for (const TopSight* sight : sights) {
    if (!sight->now || !sight->before) continue;
    const TopSums before = sight->before->page.sum_by(histogram + "_bucket", "le");
    for (const auto& [end, count] : sight->now->page.sum_by(histogram + "_bucket", "le")) {
      const auto known = before.find(end);
      const double upper =
          end == "+Inf" ? std::numeric_limits<double>::infinity() : std::strtod(end.c_str(), nullptr);
      buckets[upper] += counter_growth(count, known == before.end() ? 0.0 : known->second);
    }
  }
  return buckets;
}

}  // namespace

bool TopSight::is_node() const {
  if (!now) return false;
  const auto requests = now->page.all("volvox_model_requests_total");
  return std::any_of(requests.begin(), requests.end(),
                     [](const MetricSample* sample) { return sample->label("door") == "cluster"; });
}

double top_rate(const TopSight& sight, const std::string& counter) {
  if (!sight.now || !sight.before || sight.seconds <= 0) return 0;
  const double before = sight.before->page.sum(counter).value_or(0.0);
  return counter_growth(sight.now->page.sum(counter).value_or(0.0), before) / sight.seconds;
}

TopSums top_rates(const TopSight& sight, const std::string& counter, const std::string& label) {
  TopSums rates;
  if (!sight.now || !sight.before || sight.seconds <= 0) return rates;
  const TopSums before = sight.before->page.sum_by(counter, label);
  for (const auto& [value, count] : sight.now->page.sum_by(counter, label)) {
    const auto known = before.find(value);
    rates[value] = counter_growth(count, known == before.end() ? 0.0 : known->second) / sight.seconds;
  }
  return rates;
}

double top_gauge(const TopSight& sight, const std::string& gauge) {
  return sight.now ? sight.now->page.sum(gauge).value_or(0.0) : 0;
}

std::optional<double> top_quantile(std::span<const TopSight* const> sights, const std::string& histogram,
                                   double q) {
  const std::map<double, double> buckets = grown_buckets(sights, histogram);
  const double all = buckets.empty() ? 0 : buckets.rbegin()->second;
  if (all <= 0) return std::nullopt;
  double lower = 0, below = 0;
  for (const auto& [upper, count] : buckets) {
    if (count >= q * all) {
      if (std::isinf(upper)) return lower;
      return lower + (upper - lower) * (q * all - below) / std::max(count - below, 1.0);
    }
    lower = upper;
    below = count;
  }
  return lower;
}

}  // namespace volvox
