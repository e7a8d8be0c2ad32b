#include "simulation/bench/engine_options.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "simulation/bench/statistics.h"

namespace volvox::bench {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

Result<std::vector<std::uint32_t>> numbers(const std::string& text) {
  std::vector<std::uint32_t> found;
  for (const std::string& part : split(text, ',')) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc{} || end != part.data() + part.size() || number == 0 || number > 65536) {
      return invalid("'" + part + "' is not a number from 1 to 65536");
    }
    found.push_back(number);
  }
  return found;
}

Status add_policy(const std::string& text, const EngineOptions& options, EnginePlan& plan) {
  const auto parts = split(text, ':');
  const std::string policy = parts.empty() ? "" : parts[0];
  const bool cellular = policy == "cellular", padded = policy == "padded";
  const bool merged = policy == "depth" || policy == "agenda";
  if (!(cellular || padded || merged) || parts.size() > (cellular ? 2 : 3)) {
    return invalid("'" + text +
                   "' is not a policy; use cellular, padded, depth or agenda, or padded:16,64:1,10");
  }
  const auto batches = parts.size() > 1 ? numbers(parts[1]) : options.max_batches;
  if (!batches) return tl::unexpected(batches.error());
  Result<std::vector<std::uint32_t>> thirds = std::vector<std::uint32_t>{0};
  if (parts.size() > 2) {
    thirds = numbers(parts[2]);
  } else if (!cellular) {
    thirds = padded ? options.bucket_widths : options.windows;
  }
  if (!thirds) return tl::unexpected(thirds.error());
  for (std::uint32_t batch : *batches) {
    for (std::uint32_t third : *thirds)
      plan.configurations.push_back({policy, batch, padded ? third : 0, merged ? third : 0});
  }
  return {};
}

Status add_share(const std::string& text, EnginePlan& plan) {
  const auto parts = split(text, ':');
  Load load;
  load.kind = Load::Kind::kShare;
  std::istringstream number(parts.size() == 2 ? parts[1] : "");
  if (!(number >> load.share) || load.share <= 0 || load.share > 10) {
    return invalid("'" + text + "' is not a share of a policy's rate; write padded:0.5");
  }
  load.of = parts[0];
  const auto& all = plan.configurations;
  if (std::none_of(all.begin(), all.end(), [&](const Configuration& c) { return c.policy == load.of; })) {
    return invalid("the share '" + text + "' is of a policy that does not run");
  }
  plan.loads.push_back(load);
  return {};
}

Load backlog_of(const EngineOptions& options, const EnginePlan& plan) {
  std::uint64_t largest = 1;
  for (const Configuration& c : plan.configurations)
    largest = std::max<std::uint64_t>(largest, std::max(c.max_batch, c.window));
  Load load;
  load.outstanding = (1 + options.backlog_depth) * largest * options.workers;
  return load;
}

Result<EnginePlan> plan_of_calls(const EngineOptions& options) {
  EnginePlan plan;
  if (options.backlog || !options.in_flight.empty() || !options.rates.empty() || !options.shares.empty())
    return invalid(
        "calls are measured by themselves; leave out --backlog, --in-flight, --rate and --rate-of");
  for (const std::string& policy : options.policies) {
    if (Status ok = add_policy(policy, options, plan); !ok) return tl::unexpected(ok.error());
  }
  std::erase_if(plan.configurations, [](const Configuration& c) { return c.policy != "cellular"; });
  if (plan.configurations.empty())
    return invalid("calls need the policy cellular, for the others run no sessions");
  for (const std::uint32_t calls : options.calls) {
    Load load;
    load.kind = Load::Kind::kCalls;
    load.calls = calls;
    plan.loads.push_back(load);
  }
  return plan;
}

}  // namespace

std::string Configuration::text() const {
  const std::string batch = policy + ":" + std::to_string(max_batch);
  const std::uint32_t third = std::max(bucket_width, window);
  return third == 0 ? batch : batch + ":" + std::to_string(third);
}

std::string Load::text() const {
  if (kind == Kind::kBacklog) return "backlog";
  if (kind == Kind::kInFlight) return std::to_string(outstanding) + " in flight";
  if (kind == Kind::kCalls) return std::to_string(calls) + " calls";
  if (kind == Kind::kRate) return fixed(rate_rps, 1) + "/s";
  return of + ":" + fixed(share, 2);
}

Result<EnginePlan> plan_of(const EngineOptions& options) {
  if (!options.calls.empty()) return plan_of_calls(options);
  EnginePlan plan;
  for (const std::string& policy : options.policies) {
    if (Status ok = add_policy(policy, options, plan); !ok) return tl::unexpected(ok.error());
  }
  const bool others = !options.in_flight.empty() || !options.rates.empty();
  const bool backlog = options.backlog || !options.shares.empty() || !others;
  if (backlog) plan.loads.push_back(backlog_of(options, plan));
  for (const std::uint32_t outstanding : options.in_flight) {
    Load load;
    load.kind = Load::Kind::kInFlight;
    load.outstanding = outstanding;
    plan.loads.push_back(load);
  }
  for (double rate : options.rates) {
    if (!(rate > 0)) return invalid("a rate must be positive");
    Load load;
    load.kind = Load::Kind::kRate;
    load.rate_rps = rate;
    plan.loads.push_back(load);
  }
  for (const std::string& share : options.shares) {
    if (Status ok = add_share(share, plan); !ok) return tl::unexpected(ok.error());
  }
  return plan;
}

}  // namespace volvox::bench
