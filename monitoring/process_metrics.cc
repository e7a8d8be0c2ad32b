#include "monitoring/process_metrics.h"

#include <filesystem>
#include <system_error>

#include <sys/resource.h>

#include "monitoring/logging.h"
#include "monitoring/metric_families.h"

namespace volvox {

DescriptorUse descriptor_use() {
  DescriptorUse use;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  for (const std::filesystem::directory_iterator end; !error && entries != end; entries.increment(error))
    ++use.open;
  if (use.open > 0) --use.open;  // the folder itself
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) use.limit = limit.rlim_cur;
  return use;
}

std::vector<prometheus::MetricFamily> process_metrics() {
  Families families;
  const DescriptorUse descriptors = descriptor_use();
  put(families.add("process_open_fds", "File descriptors that are open.", prometheus::MetricType::Gauge), {},
      static_cast<double>(descriptors.open));
  put(families.add("process_max_fds", "File descriptors that may be open.", prometheus::MetricType::Gauge),
      {}, static_cast<double>(descriptors.limit));
  put(families.add("volvox_log_lines_dropped_total", "Lines of the log that nobody read in time.",
                   prometheus::MetricType::Counter),
      {}, static_cast<double>(log_lines_dropped()));
  return families.take();
}

}  // namespace volvox
