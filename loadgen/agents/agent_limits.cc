#include "loadgen/agents/agent_limits.h"

#include <algorithm>
#include <cmath>

#include "config/addresses.h"

namespace volvox {
namespace {

// Of what is kept until the end, and then sent to the coordinator.
constexpr std::uint64_t kMostSamples = 100'000;
constexpr double kMostEntries = 1e6;
// A request that is never answered is remembered for so long at most.
constexpr Duration kLongestTimeout = std::chrono::minutes(5);

Status refuse(std::string why) {
  return fail(ErrorCode::kPermissionDenied, std::move(why) + "; its operator can raise that limit");
}

bool is_allowed(const std::string& endpoint, const std::vector<std::string>& targets) {
  const std::string any_port = endpoint.substr(0, endpoint.rfind(':')) + ":*";
  return std::ranges::any_of(
      targets, [&](const std::string& target) { return target == endpoint || target == any_port; });
}

Status check_targets(const LoadJob& job, const AgentLimits& limits) {
  for (const std::string& endpoint : split_addresses(job.endpoint)) {
    if (!is_allowed(endpoint, limits.targets))
      return fail(ErrorCode::kPermissionDenied, "this agent may not put '" + endpoint +
                                                    "' under load; its operator allows that by --target");
  }
  return {};
}

// Requests a second of the plan, at its highest.
double planned_rate(const ConnectionPlan& part, const RequestMix& mix) {
  switch (part.arrivals) {
    case Arrivals::kClosed:
      return 0;
    case Arrivals::kCurve:
      return part.rate * part.curve->peak();
    case Arrivals::kTrace: {
      const double seconds = std::chrono::duration<double>(mix.trace()->back().at).count();
      return static_cast<double>(mix.trace()->size()) / std::max(seconds, 1.0) /
             static_cast<double>(part.index_step);
    }
    case Arrivals::kPoisson:
    case Arrivals::kConstant:
      return part.rate;
  }
  return part.rate;
}

struct Sums {
  double rate = 0, entries = 0;
  std::uint64_t in_flight = 0, samples = 0;
};

Sums sums_of(const LoadJob& job, const AgentLimits& limits) {
  Sums sums;
  for (const ConnectionPlan& part : job.parts) {
    const double planned = planned_rate(part, job.mix);
    const double rate = part.arrivals == Arrivals::kClosed
                            ? limits.highest_rate / static_cast<double>(job.parts.size())
                            : planned;
    const double seconds = std::chrono::duration<double>(part.measured).count();
    sums.rate += planned;
    sums.in_flight += part.arrivals == Arrivals::kClosed ? part.concurrency : 0;
    sums.samples += std::min(part.samples, kMostSamples + 1);
    if (part.timeline)
      sums.entries += part.requests > 0 ? static_cast<double>(part.requests) : rate * seconds;
  }
  return sums;
}

Status check_sums(const Sums& sums, const AgentLimits& limits) {
  if (sums.rate > limits.highest_rate)
    return refuse("this agent offers at most " + std::to_string(std::llround(limits.highest_rate)) +
                  " requests a second, not " + std::to_string(std::llround(sums.rate)));
  if (sums.in_flight > limits.in_flight)
    return refuse("this agent keeps at most " + std::to_string(limits.in_flight) +
                  " requests in flight, not " + std::to_string(sums.in_flight));
  if (sums.samples > kMostSamples)
    return fail(ErrorCode::kPermissionDenied, "an agent keeps at most 100000 answers for verification");
  if (sums.entries > kMostEntries)
    return fail(ErrorCode::kPermissionDenied, "an agent keeps a timeline of at most a million requests");
  return {};
}

// That it takes to say so, beyond the time for its last answers.
constexpr Duration kLastLook = std::chrono::seconds(2);

}  // namespace

Duration longest_run(const LoadJob& job, const AgentLimits& limits) {
  const ConnectionPlan& first = job.parts.front();  // they all take the same time
  if (first.measured.count() == 0) return limits.longest;
  Duration timeout{};
  for (const ConnectionPlan& part : job.parts) timeout = std::max(timeout, part.timeout);
  return first.warmup + first.measured + timeout + kLastLook;
}

Status check_limits(const AgentLimits& limits) {
  if (limits.targets.empty()) return invalid("which servers may be put under load? Name them by --target");
  for (const std::string& target : limits.targets) {
    if (target.find("://") == std::string::npos || target.rfind(':') == target.find("://"))
      return invalid("'" + target + "' is no endpoint; write tcp://HOST:PORT, or tcp://HOST:* for any port");
  }
  if (!std::isfinite(limits.highest_rate) || limits.highest_rate <= 0)
    return invalid("the highest rate is above 0 requests a second");
  if (limits.connections == 0 || limits.in_flight == 0 || limits.longest.count() <= 0 ||
      limits.patience.count() <= 0)
    return invalid("an agent whose limits are 0 does nothing");
  return {};
}

Status admit_job(LoadJob& job, const AgentLimits& limits) {
  if (Status ok = check_targets(job, limits); !ok) return ok;
  if (job.parts.size() > limits.connections)
    return refuse("this agent opens at most " + std::to_string(limits.connections) + " connections, not " +
                  std::to_string(job.parts.size()));
  const Sums sums = sums_of(job, limits);
  if (Status ok = check_sums(sums, limits); !ok) return ok;
  const ConnectionPlan& first = job.parts.front();
  if (first.warmup + first.measured > limits.longest)
    return refuse("this agent offers a load for at most " +
                  std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limits.longest).count()) +
                  " seconds");
  for (ConnectionPlan& part : job.parts) {
    if (part.timeout > kLongestTimeout)
      return fail(ErrorCode::kPermissionDenied, "an agent waits at most five minutes for an answer");
    const double share =
        sums.rate > 0 ? planned_rate(part, job.mix) / sums.rate : 1.0 / static_cast<double>(job.parts.size());
    part.highest_rate = limits.highest_rate * share;
  }
  return {};
}

}  // namespace volvox
