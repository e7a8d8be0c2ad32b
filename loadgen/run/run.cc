#include "loadgen/run/run.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "loadgen/run/thread_priority.h"

namespace volvox {
namespace {

// Up to this rate a sender mostly sleeps, and may claim the processor the moment that a request is due. A
// faster one, or a closed loop, would take from the server what it measures.
constexpr double kMostlyAsleepRps = 5000;

bool mostly_sleeps(const LoadPlan& plan) {
  return plan.arrivals != Arrivals::kClosed && plan.rate <= kMostlyAsleepRps;
}

// Everything that the threads of one load share. The threads end before it does.
class LoadRun {
 public:
  LoadRun(const LoadPlan& plan, const RequestMix& mix, const std::stop_token& stop)
      : plan_(plan), parts_(divide(plan)), mix_(mix), stop_(stop) {}

  Status open(const LinkFactory& open_link) {
    for (const ConnectionPlan& part : parts_) {
      auto link = open_link();
      if (!link) return tl::unexpected(link.error());
      links_.push_back(std::move(*link));
      connections_.push_back(std::make_unique<LoadConnection>(part, mix_, *links_.back(), progress_));
    }
    return {};
  }

  LoadOutcome run(const std::function<void(const ProgressReading&)>& on_progress) {
    start_ = links_.front()->now() + std::chrono::milliseconds(5);
    running_ = connections_.size();
    std::vector<std::jthread> threads;
    for (auto& connection : connections_) {
      threads.emplace_back([this, &connection] { run_one(*connection); });
    }
    watch(on_progress);
    for (std::jthread& thread : threads) thread.join();
    return outcome();
  }

 private:
  void run_one(LoadConnection& connection) {
    if (mostly_sleeps(plan_)) prefer_this_thread();  // the timers' precision is not inherited
    connection.run(start_, stop_);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) done_.notify_all();
  }

  void watch(const std::function<void(const ProgressReading&)>& on_progress) {
    ProgressMeter meter(progress_);
    std::unique_lock lock(mutex_);
    const auto began = std::chrono::steady_clock::now();
    while (!done_.wait_for(lock, std::chrono::seconds(1), [this] { return running_ == 0; })) {
      if (!on_progress) continue;
      const Duration at = std::chrono::steady_clock::now() - began;
      ProgressReading reading = meter.read(at);
      reading.warming_up = at < plan_.warmup;
      on_progress(reading);
    }
  }

  LoadOutcome outcome() {
    LoadOutcome outcome;
    outcome.by_class.resize(mix_.classes().size());
    for (auto& connection : connections_) {
      outcome.tally.merge(connection->tally());
      for (std::size_t i = 0; i < outcome.by_class.size(); ++i)
        outcome.by_class[i].merge(connection->by_class()[i]);
      auto samples = connection->take_samples();
      std::move(samples.begin(), samples.end(), std::back_inserter(outcome.samples));
      Timeline timeline = connection->take_timeline();
      std::move(timeline.begin(), timeline.end(), std::back_inserter(outcome.timeline));
    }
    const TimePoint begin = start_ + plan_.warmup;
    TimePoint end = std::max(begin, outcome.tally.last_answer);
    if (!stop_.stop_requested() && plan_.requests == 0) end = std::max(end, begin + plan_.measured);
    outcome.seconds = std::chrono::duration<double>(end - begin).count();
    return outcome;
  }

  const LoadPlan& plan_;
  std::vector<ConnectionPlan> parts_;
  const RequestMix& mix_;
  std::stop_token stop_;
  LoadProgress progress_;
  std::vector<std::unique_ptr<LoadLink>> links_;
  std::vector<std::unique_ptr<LoadConnection>> connections_;
  TimePoint start_{};
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t running_ = 0;  // guarded by mutex_
};

}  // namespace

Result<LoadOutcome> run_load(const LoadPlan& plan, const RequestMix& mix, const LinkFactory& open_link,
                             const std::stop_token& stop,
                             const std::function<void(const ProgressReading&)>& on_progress) {
  if (Status checked = check_plan(plan); !checked) return tl::unexpected(checked.error());
  if (Status checked = check_mix(mix); !checked) return tl::unexpected(checked.error());
  if (mostly_sleeps(plan)) prefer_this_thread();  // ZeroMQ's threads, too
  LoadRun run(plan, mix, stop);
  Status opened = run.open(open_link);
  Result<LoadOutcome> outcome = tl::unexpected(Error{});
  if (opened) {
    outcome = run.run(on_progress);
  } else {
    outcome = tl::unexpected(opened.error());
  }
  if (mostly_sleeps(plan)) unprefer_this_thread();
  return outcome;
}

}  // namespace volvox
