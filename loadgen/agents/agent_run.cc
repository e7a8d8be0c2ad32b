#include "loadgen/agents/agent_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace volvox {
namespace {

// How much of what was kept goes into one message.
constexpr std::size_t kEntries = 50'000, kSampleBytes = std::size_t{4} << 20;

std::size_t bytes_of(const AnswerSample& sample) {
  constexpr std::size_t kOverhead = 256;
  return kOverhead + (sample.body.storage ? sample.body.storage->size() : 0);
}

}  // namespace

AgentRun::AgentRun(LoadJob job, OpenLink open_link, Tell tell)
    : job_(std::move(job)),
      open_link_(std::move(open_link)),
      tell_(std::move(tell)),
      thread_([this] { work(); }) {}

AgentRun::~AgentRun() {
  stop("the agent ends");
  thread_.join();
}

void AgentRun::start(TimePoint at) {
  const std::lock_guard lock(mutex_);
  if (!start_) start_ = at;
  changed_.notify_all();
}

void AgentRun::stop(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (why_.empty()) why_ = why;
  stop_.request_stop();
  changed_.notify_all();
}

std::optional<AgentLoadEnd> AgentRun::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

std::optional<TimePoint> AgentRun::started() const {
  const std::lock_guard lock(mutex_);
  return start_;
}

JobState AgentRun::state() {
  const std::lock_guard lock(mutex_);
  if (!run_) return {};
  LoadProgress& progress = run_->progress();
  JobState state;
  state.completed = progress.completed.load(std::memory_order_relaxed);
  state.failed = progress.failed.load(std::memory_order_relaxed);
  state.offered =
      progress.offered.load(std::memory_order_relaxed);  // after those that ended: they are among them
  state.latency_ns = progress.latency_ns.load(std::memory_order_relaxed);
  state.worst_late_ns = progress.worst_late_ns.exchange(0, std::memory_order_relaxed);
  return state;
}

void AgentRun::work() {
  AgentLoadEnd end = AgentLoadEnd::kUnbegun;
  if (const auto at = await_start()) {
    LoadOutcome outcome = run_->run(*at, stop_.get_token(), {});
    std::unique_lock lock(mutex_);
    const std::string cut = why_;  // not what it takes to tell what was kept
    lock.unlock();
    tell_records(outcome, *at);
    end = cut.empty() ? AgentLoadEnd::kDone : AgentLoadEnd::kCut;
    tell_(JobResult{std::move(outcome), cut});
  }
  const std::lock_guard lock(mutex_);
  end_ = end;
}

// Nothing when there is nothing to run; the coordinator, who counts on this agent, is told so.
std::optional<TimePoint> AgentRun::await_start() {
  auto run = LoadRun::open(job_.parts, job_.mix, [this] { return open_link_(job_); });
  if (!run) {
    tell_(JobRefused{run.error()});
    return std::nullopt;
  }
  std::unique_lock lock(mutex_);
  run_ = std::move(*run);
  lock.unlock();
  tell_(JobReady{});
  lock.lock();
  changed_.wait(lock, [this] { return start_ || !why_.empty(); });
  if (why_.empty()) return start_;
  const Error why{ErrorCode::kCancelled, why_};
  lock.unlock();
  tell_(JobRefused{why});
  return std::nullopt;
}

void AgentRun::tell_records(LoadOutcome& outcome, TimePoint start) const {
  for (auto at = outcome.samples.begin(); at != outcome.samples.end();) {
    JobRecords records;
    for (std::size_t bytes = 0; at != outcome.samples.end() && bytes < kSampleBytes; ++at) {
      bytes += bytes_of(*at);
      records.samples.push_back(std::move(*at));
    }
    tell_(std::move(records));
  }
  for (std::size_t first = 0; first < outcome.timeline.size(); first += kEntries) {
    JobRecords records;
    const std::size_t end = std::min(first + kEntries, outcome.timeline.size());
    for (std::size_t i = first; i < end; ++i) {
      TimelineEntry& entry = records.timeline.emplace_back(std::move(outcome.timeline[i]));
      entry.scheduled = TimePoint(entry.scheduled - start);
    }
    tell_(std::move(records));
  }
  outcome.samples.clear();
  outcome.timeline.clear();
}

}  // namespace volvox
