#pragma once

#include <nlohmann/json_fwd.hpp>

#include "loadgen/report/histogram.h"

namespace volvox {

// What reports say of many durations, in milliseconds: {"p50", "p90", "p99", "max"}, zeros when there are
// none.
nlohmann::json percentiles_ms(const DurationHistogram& histogram);

}  // namespace volvox
