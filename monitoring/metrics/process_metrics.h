#pragma once

#include <cstdint>
#include <vector>

#include <prometheus/metric_family.h>

namespace volvox {

// Descriptors of this process. A count of 0: they cannot be counted.
struct DescriptorUse {
  std::uint64_t open = 0, limit = 0;
};
DescriptorUse descriptor_use();

// What the process as a whole uses and loses: read when somebody asks. Any thread.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace volvox
