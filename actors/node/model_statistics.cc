#include "actors/node/model_statistics.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "actors/work/work.h"

namespace volvox {
namespace {

std::uint64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

void add(std::atomic<std::uint64_t>& sum, std::uint64_t more) {
  sum.fetch_add(more, std::memory_order_relaxed);
}

std::uint64_t value_of(const std::atomic<std::uint64_t>& sum) {
  return sum.load(std::memory_order_relaxed);
}

}  // namespace

void ModelStatistics::LiveDurations::add(std::uint64_t us) {
  volvox::add(counts[duration_bucket(us)], 1);
  volvox::add(sum_us, us);
}

void ModelStatistics::LiveDurations::reset() {
  for (Count& count : counts) count = 0;
  sum_us = 0;
}

Durations ModelStatistics::LiveDurations::read() const {
  Durations durations;
  std::transform(counts.begin(), counts.end(), durations.counts.begin(), value_of);
  durations.sum_us = value_of(sum_us);
  return durations;
}

void ModelStatistics::ended(const IncomingRequest& request, const Outcome& outcome, std::uint64_t total_us) {
  if (const auto given_up = request.end.by_itself()) return failed(request.door, *given_up, total_us);
  if (outcome.error) return failed(request.door, outcome.error->code, total_us);
  succeeded(request.door, outcome.queue_us, outcome.compute_us, total_us);
}

void ModelStatistics::succeeded(Door door, std::uint64_t queue_us, std::uint64_t compute_us,
                                std::uint64_t total_us) {
  LiveDoor& here = by(door);
  add(here.outcomes[outcome_of({})], 1);
  here.queue.add(queue_us);
  here.compute.add(compute_us);
  here.total.add(total_us);
  last_ms_.store(milliseconds_since_1970(), std::memory_order_relaxed);
}

void ModelStatistics::failed(Door door, ErrorCode error, std::uint64_t total_us) {
  add(by(door).outcomes[outcome_of(error)], 1);
  add(failure_us_, total_us);
  last_ms_.store(milliseconds_since_1970(), std::memory_order_relaxed);
}

void ModelStatistics::reset() {
  for (LiveDoor& door : doors_) {
    for (Count& count : door.outcomes) count = 0;
    for (LiveDurations* durations : {&door.queue, &door.compute, &door.total}) durations->reset();
  }
  failure_us_ = 0;
  last_ms_ = 0;
}

ModelStatistics::Sums ModelStatistics::sums() const {
  Sums sums;
  for (const LiveDoor& door : doors_) {
    sums.successes += value_of(door.outcomes[0]);
    sums.failures = std::transform_reduce(door.outcomes.begin() + 1, door.outcomes.end(), sums.failures,
                                          std::plus<>(), value_of);
    sums.queue_us += value_of(door.queue.sum_us);
    sums.compute_us += value_of(door.compute.sum_us);
    sums.success_us += value_of(door.total.sum_us);
  }
  sums.failure_us = value_of(failure_us_);
  sums.last_ms = value_of(last_ms_);
  return sums;
}

ModelRequests ModelStatistics::requests(std::string model) const {
  ModelRequests requests{std::move(model), {}};
  for (std::size_t i = 0; i < doors_.size(); ++i) {
    ModelRequests::ByDoor& door = requests.doors[i];
    std::transform(doors_[i].outcomes.begin(), doors_[i].outcomes.end(), door.outcomes.begin(), value_of);
    door.queue = doors_[i].queue.read();
    door.compute = doors_[i].compute.read();
    door.total = doors_[i].total.read();
  }
  return requests;
}

}  // namespace volvox
