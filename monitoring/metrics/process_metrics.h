#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace volvox {

// Descriptors of this process. A count of 0: they cannot be counted.
struct DescriptorUse {
  std::uint64_t open = 0, limit = 0;
};
DescriptorUse descriptor_use();

// What the process is, and what it uses and loses as a whole: read when somebody asks. Any thread.
std::vector<prometheus::MetricFamily> process_metrics(const std::string& version);

}  // namespace volvox
