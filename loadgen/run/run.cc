#include "loadgen/run/run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "loadgen/run/thread_priority.h"
#include "loadgen/run/wakefulness.h"

namespace volvox {
namespace {

// Up to this rate a sender mostly sleeps, and may claim the processor the moment that a request is due. A
// faster one, or a closed loop, would take from the server what it measures.
constexpr double kMostlyAsleepRps = 5000;

// From the opening of the connections to the first request.
constexpr Duration kBeforeStart = std::chrono::milliseconds(5);

// The priority of the calling thread, for a while.
class Preference {
 public:
  explicit Preference(bool wanted) : wanted_(wanted) {
    if (wanted_) prefer_this_thread();
  }
  ~Preference() {
    if (wanted_) unprefer_this_thread();
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

 private:
  bool wanted_;
};

}  // namespace

Result<std::unique_ptr<LoadRun>> LoadRun::open(std::vector<ConnectionPlan> parts, const RequestMix& mix,
                                               const LinkFactory& open_link) {
  std::unique_ptr<LoadRun> run(new LoadRun(std::move(parts), mix));
  const Preference preference(run->mostly_sleeps());  // of ZeroMQ's threads, too
  const std::size_t processors = own_processors();
  for (const ConnectionPlan& part : run->parts_) {
    const Duration awake = awake_before_sends(part, run->parts_, processors);
    auto link = open_link();
    if (!link) return tl::unexpected(link.error());
    run->links_.push_back(std::move(*link));
    run->connections_.push_back(
        std::make_unique<LoadConnection>(part, mix, *run->links_.back(), run->progress_, awake));
  }
  return run;
}

bool LoadRun::mostly_sleeps() const {
  double rate = 0;
  for (const ConnectionPlan& part : parts_) rate += part.rate;
  return parts_.front().arrivals != Arrivals::kClosed && rate <= kMostlyAsleepRps;
}

LoadOutcome LoadRun::run(TimePoint start, const std::stop_token& stop,
                         const std::function<void(const ProgressReading&)>& on_progress) {
  const Preference preference(mostly_sleeps());
  start_ = start;
  running_ = connections_.size();
  std::vector<std::jthread> threads;
  for (auto& connection : connections_) {
    threads.emplace_back([this, &connection, &stop] { run_one(*connection, stop); });
  }
  watch(on_progress);
  for (std::jthread& thread : threads) thread.join();
  return outcome(stop.stop_requested());
}

void LoadRun::run_one(LoadConnection& connection, const std::stop_token& stop) {
  if (mostly_sleeps()) {
    prefer_this_thread();  // the timers' precision is not inherited
  } else if (connection.awake() == kAlwaysAwake) {
    keep_processor();
  } else if (parts_.front().arrivals != Arrivals::kClosed) {
    wake_on_time();
  }
  connection.run(start_, stop);
  const std::lock_guard lock(mutex_);
  if (--running_ == 0) done_.notify_all();
}

void LoadRun::watch(const std::function<void(const ProgressReading&)>& on_progress) {
  ProgressMeter meter(progress_);
  std::unique_lock lock(mutex_);
  const auto began = std::chrono::steady_clock::now();
  while (!done_.wait_for(lock, std::chrono::seconds(1), [this] { return running_ == 0; })) {
    if (!on_progress) continue;
    const Duration at = std::chrono::steady_clock::now() - began;
    ProgressReading reading = meter.read(at);
    reading.warming_up = at < parts_.front().warmup;
    on_progress(reading);
  }
}

LoadOutcome LoadRun::outcome(bool stopped) {
  LoadOutcome outcome;
  outcome.by_class.resize(mix_.classes().size());
  for (auto& connection : connections_) {
    outcome.apart.merge(connection->apart());
    for (std::size_t i = 0; i < outcome.by_class.size(); ++i)
      outcome.by_class[i].merge(connection->by_class()[i]);
    auto samples = connection->take_samples();
    std::move(samples.begin(), samples.end(), std::back_inserter(outcome.samples));
    Timeline timeline = connection->take_timeline();
    std::move(timeline.begin(), timeline.end(), std::back_inserter(outcome.timeline));
  }
  outcome.tally = outcome.apart;
  for (const LoadTally& of_class : outcome.by_class) outcome.tally.merge(of_class);
  const ConnectionPlan& plan = parts_.front();
  const TimePoint begin = start_ + plan.warmup;
  TimePoint end = std::max(begin, outcome.tally.last_answer);
  if (!stopped && plan.requests == 0) {
    // Each answer of a closed loop lets a request go out, so where all slots were taken in the warm-up, as
    // many went out meanwhile as were answered. While the last ones end, nothing waits behind them.
    std::uint64_t slots = 0;
    for (const ConnectionPlan& part : parts_) slots += part.concurrency;
    const bool full = plan.arrivals == Arrivals::kClosed && outcome.tally.warmup_offered >= slots;
    end = full ? begin + plan.measured : std::max(end, begin + plan.measured);
  }
  outcome.seconds = std::chrono::duration<double>(end - begin).count();
  return outcome;
}

Result<LoadOutcome> run_load(const LoadPlan& plan, const RequestMix& mix, const LinkFactory& open_link,
                             const std::stop_token& stop,
                             const std::function<void(const ProgressReading&)>& on_progress) {
  if (Status checked = check_plan(plan); !checked) return tl::unexpected(checked.error());
  if (Status checked = check_mix(mix); !checked) return tl::unexpected(checked.error());
  auto run = LoadRun::open(divide(plan), mix, open_link);
  if (!run) return tl::unexpected(run.error());
  return (*run)->run((*run)->now() + kBeforeStart, stop, on_progress);
}

}  // namespace volvox
