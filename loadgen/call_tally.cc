#include "loadgen/call_tally.h"

namespace volvox {

void CallTally::merge(const CallTally& other) {
  frames_ += other.frames_;
  sent_ += other.sent_;
  repeats_ += other.repeats_;
  late_ += other.late_;
  for (const auto& [code, count] : other.errors_) errors_[code] += count;
  latency_.merge(other.latency_);
  behind_.merge(other.behind_);
}

double CallTally::late_fraction() const {
  return frames_ == 0 ? 0 : static_cast<double>(late_ + lost()) / static_cast<double>(frames_);
}

std::map<std::string, std::uint64_t> CallTally::errors() const {
  std::map<std::string, std::uint64_t> named;
  for (const auto& [code, count] : errors_)
    named[std::string(to_string(static_cast<ErrorCode>(code)))] = count;
  return named;
}

}  // namespace volvox
