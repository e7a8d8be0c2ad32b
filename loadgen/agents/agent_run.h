#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/time.h"
#include "loadgen/agents/load_messages.h"
#include "loadgen/run/run.h"
#include "monitoring/metrics/agent_metrics.h"

namespace volvox {

// A job that an agent was given: a thread of its own opens the connections, waits to be started, runs, and
// tells what came of it. Whoever owns it may call everything at any time; stop() comes to an end within the
// time that requests are waited for, and that it takes to tell what was kept. Destruction stops and waits.
class AgentRun {
 public:
  // Tells the coordinator; called on the run's thread.
  using Tell = std::function<void(const LoadMessage&)>;
  using OpenLink = std::function<Result<std::unique_ptr<LoadLink>>(const LoadJob&)>;

  AgentRun(LoadJob job, OpenLink open_link, Tell tell);
  ~AgentRun();
  AgentRun(const AgentRun&) = delete;
  AgentRun& operator=(const AgentRun&) = delete;

  // At an instant of this machine's clock, which may have passed.
  void start(TimePoint at);
  // Ends it before its time, and why. The first one counts.
  void stop(const std::string& why);

  // How it came to an end, once it has.
  std::optional<AgentLoadEnd> end() const;
  // Since when requests are sent; nothing before the start.
  std::optional<TimePoint> started() const;
  // What has happened so far; resets the worst lateness.
  JobState state();

 private:
  void work();
  std::optional<TimePoint> await_start();
  void tell_records(LoadOutcome& outcome, TimePoint start) const;

  const LoadJob job_;
  const OpenLink open_link_;
  const Tell tell_;
  std::stop_source stop_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::unique_ptr<LoadRun> run_;
  std::optional<TimePoint> start_;
  std::string why_;  // it is to end; empty: it is not
  std::optional<AgentLoadEnd> end_;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace volvox
