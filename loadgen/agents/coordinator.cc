#include "loadgen/agents/coordinator.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include <poll.h>

#include "base/clock.h"
#include "base/random_number.h"
#include "loadgen/agents/agent_link.h"
#include "loadgen/agents/load_messages.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = AgentReport::State;

constexpr std::size_t kMostAgents = 64;
constexpr Duration kConnect = seconds(5);
constexpr Duration kPrepare = seconds(30);  // for opening their connections
// Exchanges before the start, with a pause between two of them; and how often the clocks are compared, and
// signs of life given, while the load runs.
constexpr int kExchanges = 16;
constexpr Duration kPause = milliseconds(5);
constexpr Duration kCompare = milliseconds(500);
// From the word that says when to that instant.
constexpr Duration kLead = milliseconds(300);
// How long an agent takes, beyond the load and the patience with its last requests, to tell what came of it.
constexpr Duration kGrace = seconds(15);
constexpr Duration kLook = milliseconds(20);
// Entries of a timeline that are kept of one agent: twice the plan that it may accept, since at random more
// requests may come than the plan says.
constexpr std::size_t kMostKept = 2'000'000;

std::int64_t in_ns(TimePoint time) {
  return time.time_since_epoch().count();
}

// An agent, as the coordinator sees it.
struct Agent {
  AgentReport report{};
  std::unique_ptr<AgentLink> link{};
  ClockEstimate clock{};
  int exchanges = 0;
  std::size_t samples = 0;  // that it is to keep
  bool ready = false;
  Status refused{};
  TimePoint heard{}, asked{};
  JobState last{};
  LoadOutcome outcome{};

  bool runs() const { return report.state == State::kRunning; }
};

class Coordinator {
 public:
  Coordinator(const CoordinatorOptions& options, const LoadPlan& plan, const RequestMix& mix,
              const std::stop_token& stop)
      : options_(options), plan_(plan), mix_(mix), stop_(stop) {}

  Status prepare() {
    if (Status ok = connect(); !ok) return ok;
    if (Status ok = compare_clocks(); !ok) return ok;
    return hand_out();
  }

  AgentsOutcome run(const AgentsProgress& on_progress) {
    start();
    watch(on_progress);
    return outcome();
  }

  // For agents that are ready when the load does not start.
  void call_off() {
    for (Agent& agent : agents_) static_cast<void>(agent.link->send(JobStop{}));
  }

 private:
  Status connect() {
    const std::uint64_t run = random_identity().value();  // 0 is nobody's
    for (const AgentAddress& address : options_.agents) {
      auto link = AgentLink::open(address.endpoint, run, address.keys);
      if (!link) return tl::unexpected(link.error());
      agents_.emplace_back();
      agents_.back().report.endpoint = address.endpoint;
      agents_.back().link = std::move(*link);
    }
    for (Agent& agent : agents_) {
      if (Status ok = agent.link->await(kConnect); !ok)
        return fail(ok.error().code, "agent " + agent.report.endpoint + ": " + ok.error().message);
    }
    // Only now is anything asked of them: what they had to say before, they had nobody to say it to.
    for (Agent& agent : agents_) agent.heard = steady_now();
    return {};
  }

  Status compare_clocks() {
    const auto compared = [](const Agent& agent) { return agent.exchanges >= kExchanges; };
    return pump_until(kConnect, compared, "the clocks could not be compared", [this](Agent& agent) {
      if (steady_now() - agent.asked >= kPause) ask(agent);
    });
  }

  Status hand_out() {
    std::vector<ConnectionPlan> parts = divide(plan_);
    const std::size_t n = agents_.size();
    for (std::size_t i = 0; i < n; ++i) {
      LoadJob job{options_.target, mix_};
      for (std::size_t k = i; k < parts.size(); k += n) {
        job.parts.push_back(parts[k]);
        agents_[i].samples += parts[k].samples;
      }
      agents_[i].report.share = static_cast<double>(job.parts.size()) / static_cast<double>(parts.size());
      if (Status ok = agents_[i].link->send(job); !ok) return ok;
    }
    const auto ready = [](const Agent& agent) { return agent.ready; };
    return pump_until(kPrepare, ready, "the load could not be prepared in time", [](Agent&) {});
  }

  // Until `done` holds of all agents; the error is that of the first that cannot.
  template <class Done, class Each>
  Status pump_until(Duration at_most, Done&& done, const char* otherwise, Each&& each) {
    const TimePoint until = steady_now() + at_most;
    for (;;) {
      if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "the load was stopped before it began");
      for (Agent& agent : agents_) {
        if (!agent.refused || agent.report.state == State::kMissing)
          return fail(agent.refused ? ErrorCode::kUnavailable : agent.refused.error().code,
                      "agent " + agent.report.endpoint + ": " +
                          (agent.refused ? agent.report.why : agent.refused.error().message));
        each(agent);
      }
      if (std::ranges::all_of(agents_, done)) return {};
      if (steady_now() > until) break;
      pump();
    }
    const auto slow = std::ranges::find_if_not(agents_, done);
    return fail(ErrorCode::kUnavailable, "agent " + slow->report.endpoint + ": " + otherwise);
  }

  void start() {
    start_ = steady_now() + kLead;
    for (Agent& agent : agents_) {
      agent.report.clock = agent.clock.at(in_ns(start_)).value_or(ClockEstimate::Offset{});
      send(agent, JobStart{in_ns(start_) + agent.report.clock.ns});
    }
  }

  void watch(const AgentsProgress& on_progress) {
    ProgressMeter meter(progress_);
    TimePoint told = steady_now();
    bool stopping = false;
    TimePoint until = plan_.measured.count() > 0 && plan_.requests == 0
                          ? start_ + plan_.warmup + plan_.measured + plan_.timeout + kGrace
                          : TimePoint::max();
    while (std::ranges::any_of(agents_, &Agent::runs)) {
      pump();
      const TimePoint now = steady_now();
      if (stop_.stop_requested() && !std::exchange(stopping, true)) {
        call_off();
        until = std::min(until, now + plan_.timeout + kGrace);
      }
      if (now > until) give_up("it gave no result in time");
      if (!on_progress || now - told < seconds(1)) continue;
      told = now;
      ProgressReading reading = meter.read(std::max(now - start_, Duration(0)));
      reading.warming_up = now < start_ + plan_.warmup;
      std::vector<AgentReport> reports;
      for (const Agent& agent : agents_) reports.push_back(agent.report);
      on_progress(reading, reports);
    }
  }

  // Takes what has come, or waits a moment for something; asks those that run for signs of life.
  void pump() {
    bool some = false;
    for (Agent& agent : agents_) {
      if (!agent.runs()) continue;
      some = receive(agent) || some;
      if (!agent.runs()) continue;
      const TimePoint now = steady_now();
      if (agent.exchanges >= kExchanges && now - agent.asked >= kCompare) ask(agent);
      if (now - agent.heard > options_.patience) miss(agent, "nothing was heard of it");
    }
    if (!some) wait();
  }

  void wait() {
    std::vector<pollfd> polled;
    for (Agent& agent : agents_) {
      if (!agent.runs()) continue;
      polled.push_back({agent.link->fd(), POLLIN, 0});
      polled.push_back({agent.link->monitor_fd(), POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), static_cast<int>(kLook / milliseconds(1)));
  }

  bool receive(Agent& agent) {
    messages_.clear();
    const Status status = agent.link->receive(messages_);
    const TimePoint now = steady_now();
    for (LoadMessage& message : messages_) {
      if (!agent.runs()) break;  // whatever comes behind its result, or behind what it is missing for
      agent.heard = now;
      take(agent, message, now);
    }
    if (!status && agent.runs()) miss(agent, status.error().message);
    return !messages_.empty();
  }

  void take(Agent& agent, LoadMessage& message, TimePoint now) {
    if (const auto* clock = std::get_if<ClockAnswer>(&message)) {
      agent.clock.add(clock->asked, clock->received, clock->answered, in_ns(now));
      ++agent.exchanges;
    } else if (std::holds_alternative<JobReady>(message)) {
      agent.ready = true;
    } else if (const auto* refused = std::get_if<JobRefused>(&message)) {
      agent.refused = tl::unexpected(refused->why);
      if (start_ != TimePoint{}) miss(agent, refused->why.message);
    } else if (const auto* state = std::get_if<JobState>(&message)) {
      note(agent, *state);
    } else if (auto* records = std::get_if<JobRecords>(&message)) {
      keep(agent, *records);
    } else if (auto* result = std::get_if<JobResult>(&message)) {
      finish(agent, *result);
    }
  }

  void note(Agent& agent, const JobState& state) {
    const auto add = [](std::atomic<std::uint64_t>& sum, std::uint64_t now, std::uint64_t before) {
      if (now > before) sum.fetch_add(now - before, std::memory_order_relaxed);
    };
    add(progress_.offered, state.offered, agent.last.offered);
    add(progress_.completed, state.completed, agent.last.completed);
    add(progress_.failed, state.failed, agent.last.failed);
    add(progress_.latency_ns, state.latency_ns, agent.last.latency_ns);
    progress_.worst_late_ns = std::max(progress_.worst_late_ns.load(), state.worst_late_ns);
    agent.last = state;
    agent.report.offered = state.offered;
    agent.report.completed = state.completed;
    agent.report.failed = state.failed;
  }

  // Entries stand at the time since the start.
  void keep(Agent& agent, JobRecords& records) {
    LoadOutcome& outcome = agent.outcome;
    const std::size_t samples = outcome.samples.size() + records.samples.size();
    const std::size_t entries = outcome.timeline.size() + records.timeline.size();
    if (samples > agent.samples || entries > (plan_.timeline ? kMostKept : 0))
      return miss(agent, "it tells more than it was asked for");
    std::ranges::move(records.samples, std::back_inserter(outcome.samples));
    for (TimelineEntry& entry : records.timeline) {
      entry.scheduled = start_ + entry.scheduled.time_since_epoch();
      outcome.timeline.push_back(std::move(entry));
    }
  }

  void finish(Agent& agent, JobResult& result) {
    if (result.outcome.by_class.size() != mix_.classes().size())
      return miss(agent, "its result is not that of this load");
    LoadOutcome& outcome = agent.outcome;
    outcome.by_class = std::move(result.outcome.by_class);
    outcome.apart = std::move(result.outcome.apart);
    outcome.seconds = result.outcome.seconds;
    outcome.tally = outcome.apart;
    for (const LoadTally& tally : outcome.by_class) outcome.tally.merge(tally);
    if (!is_possible(outcome)) return miss(agent, "its numbers do not agree");
    agent.report.offered = outcome.tally.offered + outcome.tally.warmup_offered;
    agent.report.completed = outcome.tally.completed + outcome.tally.warmup_completed;
    agent.report.failed = agent.report.offered - std::min(agent.report.offered, agent.report.completed);
    const bool whole = result.cut.empty() || stop_.stop_requested();
    agent.report.state = whole ? State::kDone : State::kCut;
    if (!whole) agent.report.why = std::move(result.cut);
  }

  // Requests are those of the classes, and all that was kept is of them.
  static bool is_possible(const LoadOutcome& outcome) {
    const LoadTally& apart = outcome.apart;
    return std::ranges::all_of(outcome.by_class, &LoadTally::agrees) && apart.agrees() &&
           apart.offered == 0 && apart.warmup_offered == 0 &&
           outcome.samples.size() <= outcome.tally.completed &&
           outcome.timeline.size() <= outcome.tally.offered;
  }

  static void miss(Agent& agent, std::string why) {
    agent.report.state = State::kMissing;
    agent.report.why = std::move(why);
    agent.outcome = {};
  }

  void give_up(const char* why) {
    for (Agent& agent : agents_) {
      if (!agent.runs()) continue;
      static_cast<void>(agent.link->send(JobStop{}));
      miss(agent, why);
    }
  }

  void ask(Agent& agent) {
    agent.asked = steady_now();
    send(agent, ClockQuestion{in_ns(agent.asked)});
  }

  void send(Agent& agent, const LoadMessage& message) {
    if (const Status ok = agent.link->send(message); !ok && agent.runs()) miss(agent, ok.error().message);
  }

  AgentsOutcome outcome() {
    AgentsOutcome all;
    all.outcome.by_class.resize(mix_.classes().size());
    for (Agent& agent : agents_) {
      all.agents.push_back(agent.report);
      if (agent.report.state == State::kMissing) continue;
      LoadOutcome& sum = all.outcome;
      for (std::size_t i = 0; i < sum.by_class.size(); ++i) sum.by_class[i].merge(agent.outcome.by_class[i]);
      sum.apart.merge(agent.outcome.apart);
      sum.tally.merge(agent.outcome.tally);
      sum.seconds = std::max(sum.seconds, agent.outcome.seconds);
      std::ranges::move(agent.outcome.samples, std::back_inserter(sum.samples));
      std::ranges::move(agent.outcome.timeline, std::back_inserter(sum.timeline));
    }
    return all;
  }

  const CoordinatorOptions& options_;
  const LoadPlan& plan_;
  const RequestMix& mix_;
  const std::stop_token stop_;
  std::vector<Agent> agents_;
  std::vector<LoadMessage> messages_;
  LoadProgress progress_;
  TimePoint start_{};
};

Status check(const CoordinatorOptions& options, const LoadPlan& plan, const RequestMix& mix) {
  const std::size_t n = options.agents.size();
  if (n == 0 || n > kMostAgents)
    return invalid("a load is offered by from 1 to " + std::to_string(kMostAgents) + " agents");
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (options.agents[i].endpoint == options.agents[k].endpoint)
        return invalid("agent " + options.agents[i].endpoint + " is named twice");
    }
  }
  if (Status ok = check_plan(plan); !ok) return ok;
  if (Status ok = check_mix(mix); !ok) return ok;
  if (divide(plan).size() < n)
    return invalid("the load has fewer requests than there are agents; some would have nothing to do");
  return {};
}

}  // namespace

Result<AgentsOutcome> run_agents(const CoordinatorOptions& options, LoadPlan plan, const RequestMix& mix,
                                 const std::stop_token& stop, const AgentsProgress& on_progress) {
  const auto n = static_cast<std::uint32_t>(std::max<std::size_t>(options.agents.size(), 1));
  plan.connections = (plan.connections + n - 1) / n * n;
  if (Status ok = check(options, plan, mix); !ok) return tl::unexpected(ok.error());
  Coordinator coordinator(options, plan, mix, stop);
  if (Status ok = coordinator.prepare(); !ok) {
    coordinator.call_off();
    return tl::unexpected(ok.error());
  }
  return coordinator.run(on_progress);
}

std::string_view to_string(AgentReport::State state) {
  constexpr std::array<std::string_view, 4> kNames{"running", "done", "cut", "missing"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string agents_progress_line(const ProgressReading& reading, const std::vector<AgentReport>& agents) {
  std::string line = progress_line(reading) + "  agents:";
  for (const AgentReport& agent : agents) {
    const bool fine = agent.state == AgentReport::State::kRunning || agent.state == AgentReport::State::kDone;
    line.append(1, ' ').append(std::to_string(agent.completed));
    if (!fine) line.append(" (").append(to_string(agent.state)).append(")");
  }
  return line;
}

double missing_share(const std::vector<AgentReport>& agents) {
  double share = 0;
  for (const AgentReport& agent : agents) {
    if (agent.state == AgentReport::State::kMissing) share += agent.share;
  }
  return share;
}

}  // namespace volvox
