#include "loadgen/run/tally.h"

#include <algorithm>

namespace volvox {

std::uint64_t LoadTally::failed() const {
  std::uint64_t sum = 0;
  for (const auto& [code, count] : errors) sum += count;
  return sum;
}

bool LoadTally::agrees() const {
  return completed <= offered && failed() == offered - completed && on_time <= completed &&
         warmup_completed <= warmup_offered && latency.count() == completed && queue.count() == completed &&
         compute.count() == completed && late.count() == offered;
}

void LoadTally::merge(const LoadTally& other) {
  offered += other.offered;
  completed += other.completed;
  on_time += other.on_time;
  for (const auto& [code, count] : other.errors) errors[code] += count;
  duplicates += other.duplicates;
  resent += other.resent;
  late_answers += other.late_answers;
  warmup_offered += other.warmup_offered;
  warmup_completed += other.warmup_completed;
  for (const auto& [outcome, count] : other.outcomes) outcomes[outcome] += count;
  first_error.insert(other.first_error.begin(), other.first_error.end());
  latency.merge(other.latency);
  queue.merge(other.queue);
  compute.merge(other.compute);
  late.merge(other.late);
  refused.merge(other.refused);
  retry_after.merge(other.retry_after);
  gaps.merge(other.gaps);
  last_answer = std::max(last_answer, other.last_answer);
}

}  // namespace volvox
