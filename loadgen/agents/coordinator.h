#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/agents/clock_estimate.h"
#include "loadgen/plan/plan.h"
#include "loadgen/requests/request_mix.h"
#include "loadgen/run/progress.h"
#include "loadgen/run/run.h"
#include "protocol/client/channel.h"

namespace volvox {

// An agent of a load, and how to reach it.
struct AgentAddress {
  std::string endpoint;
  std::optional<ChannelKeys> keys{};
};

struct CoordinatorOptions {
  std::string target;  // the server's endpoint, as the agents reach it; several with commas
  std::vector<AgentAddress> agents;
  Duration patience = std::chrono::seconds(5);  // with an agent that says nothing; then it is missing
};

// What became of one agent.
struct AgentReport {
  enum class State : std::uint8_t { kRunning, kDone, kCut, kMissing };

  std::string endpoint{};
  State state = State::kRunning;
  std::string why{};              // it was cut short, or is missing
  double share = 0;               // of the load that was planned, 0 to 1
  ClockEstimate::Offset clock{};  // of its clock towards the coordinator's, at the start
  std::uint64_t offered = 0, completed = 0, failed = 0;  // as last heard; not in the sums when it is missing
};
std::string_view to_string(AgentReport::State state);  // "done", …

struct AgentsOutcome {
  LoadOutcome outcome;  // of those that are not missing
  std::vector<AgentReport> agents;
};

// Runs one load from several machines: divides the plan among the agents, bounds how their clocks stand
// towards this one's, has all start at one instant, and merges what they measured. An agent that is silent,
// or whose connection breaks, is missing from then on: it is reported, with its share of the load, and the
// others go on. The connections are rounded up, so that the agents have equally many.
//
// The error is for what kept the load from starting: a plan that makes no sense, an agent that is not there
// or refuses; then no agent has sent anything. `on_progress`, unless empty, is called about once a second by
// the calling thread, which does all of it. A stop request ends the sending of all agents.
using AgentsProgress = std::function<void(const ProgressReading&, const std::vector<AgentReport>&)>;
Result<AgentsOutcome> run_agents(const CoordinatorOptions& options, LoadPlan plan, const RequestMix& mix,
                                 const std::stop_token& stop, const AgentsProgress& on_progress);

// One line without a line end, for people: the load as a whole, and what each agent has done of it.
std::string agents_progress_line(const ProgressReading& reading, const std::vector<AgentReport>& agents);

// Of the load that was planned, how much is missing: 0 to 1.
double missing_share(const std::vector<AgentReport>& agents);

}  // namespace volvox
