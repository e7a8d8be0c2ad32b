#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loadgen/server/server_status.h"

namespace volvox {

// One process as `volvox top` saw it last.
struct TopSight {
  std::string name;  // "127.0.0.1:7101"
  std::optional<ServerStatus> now,
      before;           // no `now`: it does not answer; no `before`: it did not, or began anew
  double seconds = 0;   // from `before` to `now`
  std::string trouble;  // why it does not answer

  // Whose requests come from routers, and are counted there as clients saw them.
  bool is_node() const;
};

// By labels of one name, as MetricsPage::sum_by gives them.
using TopSums = std::map<std::string, double>;

// By how much a counter grew in a second, summed over all labels, or by one of them; 0 without a reading
// before. A counter that is smaller than before began anew.
double top_rate(const TopSight& sight, const std::string& counter);
TopSums top_rates(const TopSight& sight, const std::string& counter, const std::string& label);
// What a gauge says now, summed over all labels.
double top_gauge(const TopSight& sight, const std::string& gauge);

// The quantile `q` of what histograms of that name took up since the readings before, all together, as
// Prometheus estimates it: within a bucket evenly spread. Nothing: there was nothing.
std::optional<double> top_quantile(std::span<const TopSight* const> sights, const std::string& histogram,
                                   double q);

}  // namespace volvox
