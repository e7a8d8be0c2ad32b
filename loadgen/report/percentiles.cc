#include "loadgen/report/percentiles.h"

#include <nlohmann/json.hpp>

#include "loadgen/report/format.h"

namespace volvox {

nlohmann::json percentiles_ms(const DurationHistogram& histogram) {
  return {{"p50", in_ms(histogram.percentile(0.50))},
          {"p90", in_ms(histogram.percentile(0.90))},
          {"p99", in_ms(histogram.percentile(0.99))},
          {"max", in_ms(histogram.max())}};
}

}  // namespace volvox
