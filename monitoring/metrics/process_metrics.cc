#include "monitoring/metrics/process_metrics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "monitoring/log/logging.h"
#include "monitoring/metrics/metric_families.h"

namespace volvox {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// In seconds since 1970; 0: the system does not say.
double process_start_seconds() {
  std::ifstream stat("/proc/self/stat");
  std::string text, key;
  std::getline(stat, text);
  // Fields are counted from behind the program's name, which may hold anything: the start is the 22nd.
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  constexpr int kBefore = 19;
  for (int i = 0; i < kBefore; ++i) fields >> key;
  double ticks = 0;
  timespec now{}, since_boot{};
  if (!(fields >> ticks) || ::clock_gettime(CLOCK_REALTIME, &now) != 0 ||
      ::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0)
    return 0;
  // Not read from /proc/stat, which a service may not see.
  const double booted = seconds_of(now) - seconds_of(since_boot);
  return booted + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The names and meanings that Prometheus's client libraries have agreed on.
void add_process(Families& families) {
  using prometheus::MetricType;
  rusage use{};
  if (::getrusage(RUSAGE_SELF, &use) == 0) {
    put(families.add("process_cpu_seconds_total", "CPU time, user and system.", MetricType::Counter), {},
        seconds_of(use.ru_utime) + seconds_of(use.ru_stime));
  }
  std::ifstream statm("/proc/self/statm");
  std::uint64_t virtual_pages = 0, resident_pages = 0;
  if (statm >> virtual_pages >> resident_pages) {
    const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
    put(families.add("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge), {},
        static_cast<double>(virtual_pages) * page_bytes);
    put(families.add("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge), {},
        static_cast<double>(resident_pages) * page_bytes);
  }
  static const double start = process_start_seconds();
  if (start > 0) {
    put(families.add("process_start_time_seconds", "When the process started, since 1970.",
                     MetricType::Gauge),
        {}, start);
  }
}

}  // namespace

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

std::vector<prometheus::MetricFamily> process_metrics(const std::string& version) {
  Families families;
  put(families.add("volvox_build_info", "Always 1; the version is the label.", prometheus::MetricType::Gauge),
      {{"version", version}}, 1);
  add_process(families);
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
