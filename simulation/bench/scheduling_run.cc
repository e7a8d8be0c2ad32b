#include "simulation/bench/scheduling_run.h"

#include <chrono>
#include <numeric>
#include <utility>

#include "batching/policy/policies.h"
#include "simulation/bench/allocations.h"

namespace volvox::bench {
namespace {

Duration ns(double n) {
  return Duration(static_cast<std::int64_t>(n));
}

double task_ns(const Task& task) {
  return (20.0 + 0.5 * task.rows) * 1000;
}

}  // namespace

SchedulingRun::SchedulingRun(const SchedulingCase& what, const SchedulingLoad& load)
    : case_(what),
      load_(load),
      chance_(load.seed),
      scheduler_(what.config, make_cellular_policy(what.config)) {
  in_flight_.resize(what.config.workers);
  const double mean_cells =
      std::accumulate(what.cells.begin(), what.cells.end(), 0.0) / static_cast<double>(what.cells.size());
  const std::uint32_t batch = what.config.types.front().max_batch;
  const double cell_ns = (20.0 + 0.5 * batch) * 1000 / batch / what.config.workers;
  mean_gap_ns_ = mean_cells * cell_ns / 2;
  sojourn_ns_ = mean_cells * cell_ns * load.live;
}

template <class Calls>
void SchedulingRun::timed(Cost& cost, Calls calls) {
  const std::uint64_t before = allocations();
  const auto start = std::chrono::steady_clock::now();
  calls();
  cost.ns += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  cost.allocations += allocations() - before;
}

void SchedulingRun::arrive() {
  arriving_.clear();
  admitted_.clear();
  for (; next_arrival_ <= now_; next_arrival_ += ns(mean_gap_ns_ * chance_.exponential())) {
    if (live_ + arriving_.size() >= load_.live) continue;
    arriving_.push_back(case_.requests[chance_.below(case_.requests.size())]);
    arriving_.back().arrival = next_arrival_;
  }
  if (arriving_.empty()) return;
  admitted_.reserve(arriving_.size());
  timed(admitting_, [&] {
    for (Request& request : arriving_) admitted_.push_back(scheduler_.admit(std::move(request), now_));
  });
  for (const AdmitResult& result : admitted_) {
    if (result.kind == AdmitResult::Kind::kNeverFits || result.kind == AdmitResult::Kind::kFull) continue;
    ++live_;
    ++requests_;
    if (chance_.unit() >= load_.cancelled) continue;
    cancellations_.push({now_ + ns(chance_.unit() * sojourn_ns_), result.id});
  }
}

void SchedulingRun::cancel_due() {
  cancelling_.clear();
  for (; !cancellations_.empty() && cancellations_.top().at <= now_; cancellations_.pop()) {
    cancelling_.push_back(cancellations_.top().id);
  }
  if (cancelling_.empty()) return;
  timed(admitting_, [&] {
    for (RequestId id : cancelling_) scheduler_.cancel(id, now_, events_);
  });
}

void SchedulingRun::serve(WorkerId worker) {
  tasks_.clear();
  auto& in_flight = in_flight_[worker];
  timed(scheduling_, [&] { scheduler_.schedule(worker, now_, tasks_); });
  for (BatchedTask& task : tasks_) {
    ++task_count_;
    cells_ += task->rows;
    now_ += ns(task_ns(*task) / static_cast<double>(in_flight_.size()));
    in_flight.push_back(std::move(task));
  }
  // With nothing new to run, everything gets done.
  const std::size_t keep = tasks_.empty() ? 0 : load_.withheld;
  if (in_flight.size() <= keep) return;
  tasks_.clear();
  while (in_flight.size() > keep) {
    tasks_.push_back(std::move(in_flight.front()));
    in_flight.pop_front();
  }
  timed(scheduling_, [&] {
    scheduler_.complete(worker, tasks_.back()->seq, now_, events_);
    for (BatchedTask& task : tasks_) scheduler_.recycle(std::move(task));
  });
}

void SchedulingRun::take_events() {
  for (const Event& event : events_) {
    if (event.kind == Event::Kind::kStepDone || event.kind == Event::Kind::kNodeDone) continue;
    --live_;
    if (event.kind == Event::Kind::kCancelled) ++cancelled_;
  }
  events_.clear();
}

void SchedulingRun::turn() {
  arrive();
  cancel_due();
  for (WorkerId worker = 0; worker < in_flight_.size(); ++worker) serve(worker);
  take_events();
  now_ += std::chrono::microseconds(1);  // time goes on when nothing can run, too
  ++turns_;
  live_sum_ += live_;
}

void SchedulingRun::begin_measuring() {
  admitting_ = scheduling_ = {};
  cells_ = task_count_ = requests_ = cancelled_ = turns_ = 0;
  live_sum_ = 0;
}

// The whole population at once; after a few passes over it starts and ends are spread evenly.
void SchedulingRun::populate() {
  while (live_ < load_.live) {
    Request request = case_.requests[chance_.below(case_.requests.size())];
    const AdmitResult result = scheduler_.admit(std::move(request), now_);
    if (result.kind == AdmitResult::Kind::kNeverFits || result.kind == AdmitResult::Kind::kFull) return;
    ++live_;
  }
}

SchedulingResult SchedulingRun::run() {
  populate();
  while (cells_ < load_.warm_up_cells) turn();
  begin_measuring();
  while (cells_ < load_.cells) turn();

  SchedulingResult result;
  const auto cells = static_cast<double>(cells_);
  result.ns_per_cell = (admitting_.ns + scheduling_.ns) / cells;
  result.ns_per_request = admitting_.ns / static_cast<double>(std::max<std::uint64_t>(requests_, 1));
  result.allocations_per_task = static_cast<double>(admitting_.allocations + scheduling_.allocations) /
                                static_cast<double>(std::max<std::uint64_t>(task_count_, 1));
  result.mean_batch = cells / static_cast<double>(std::max<std::uint64_t>(task_count_, 1));
  result.mean_live = live_sum_ / static_cast<double>(turns_);
  result.cells = cells_;
  result.tasks = task_count_;
  result.requests = requests_;
  result.cancelled = cancelled_;
  result.waiting = scheduler_.stats().waiting_requests;
  return result;
}

}  // namespace volvox::bench
