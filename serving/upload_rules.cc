#include "serving/upload_rules.h"

#include <algorithm>
#include <chrono>

namespace volvox {
namespace {

constexpr std::size_t kFirst = 65'536;

}  // namespace

TimePoint UploadRules::due(TimePoint start, std::size_t got, std::size_t more) const {
  const TimePoint last = start + io_timeout;
  if (least_bytes_per_second == 0) return last;
  const auto seconds = std::chrono::duration<double>(static_cast<double>(got + more) /
                                                     static_cast<double>(least_bytes_per_second));
  if (seconds >= io_timeout) return last;
  return std::min(last, start + grace + std::chrono::duration_cast<Duration>(seconds));
}

std::size_t UploadRules::set_aside(std::size_t got, std::size_t most) {
  std::size_t step = kFirst;
  while (step <= got && step < most) step *= 2;
  return std::min(step, most);
}

}  // namespace volvox
