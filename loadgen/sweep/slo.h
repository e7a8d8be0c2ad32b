#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/run/tally.h"

namespace volvox {

// What is promised of a service: this fraction of all requests is answered with a result within the bound.
struct Slo {
  double fraction = 0.99;
  Duration bound{};

  // A request that failed was not answered in time, whatever the answers took.
  bool is_met(const LoadTally& tally) const;
  std::string text() const;  // "p99 within 50 ms"
};

// "p99=50ms", "p99.9=1.5s", "p50=800us"; INVALID_ARGUMENT otherwise.
Result<Slo> parse_slo(std::string_view text);

}  // namespace volvox
