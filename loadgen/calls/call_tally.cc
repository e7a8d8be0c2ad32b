#include "loadgen/calls/call_tally.h"

namespace volvox {

void CallTally::failed(const Error& error) {
  Failures& failures = errors_[error.code];
  if (failures.count++ == 0) failures.first = error.message;
}

void CallTally::merge(const CallTally& other) {
  frames_ += other.frames_;
  sent_ += other.sent_;
  repeats_ += other.repeats_;
  late_ += other.late_;
  for (const auto& [code, failures] : other.errors_) {
    Failures& mine = errors_[code];
    if (mine.count == 0) mine.first = failures.first;
    mine.count += failures.count;
  }
  latency_.merge(other.latency_);
  behind_.merge(other.behind_);
}

double CallTally::late_fraction() const {
  return frames_ == 0 ? 0 : static_cast<double>(late_ + lost()) / static_cast<double>(frames_);
}

}  // namespace volvox
