#include "loadgen/plan/plan.h"

#include <algorithm>
#include <cmath>

namespace volvox {
namespace {

constexpr double kMaxRate = 1e7;
constexpr std::uint32_t kMaxConnections = 256;
constexpr std::uint32_t kMaxConcurrency = 1U << 20;

// Part `i` of `n` nearly equal parts of `whole`.
std::uint64_t share(std::uint64_t whole, std::uint32_t i, std::uint32_t n) {
  return whole / n + (i < whole % n ? 1 : 0);
}

// A connection without a slot or a request of its own would only stand in the way.
std::uint32_t useful_connections(const LoadPlan& plan) {
  std::uint64_t n = plan.connections;
  if (plan.arrivals == Arrivals::kClosed) n = std::min<std::uint64_t>(n, plan.concurrency);
  if (plan.requests > 0) n = std::min(n, plan.requests);
  return static_cast<std::uint32_t>(n);
}

}  // namespace

Status check_plan(const LoadPlan& plan) {
  if (plan.arrivals == Arrivals::kClosed) {
    if (plan.concurrency == 0 || plan.concurrency > kMaxConcurrency) {
      return invalid("a closed loop needs from 1 to 1048576 requests in flight; set the concurrency");
    }
  } else if (plan.arrivals == Arrivals::kCurve && !plan.curve) {
    return invalid("an open loop by a curve needs the curve");
  } else if (!std::isfinite(plan.rate) || plan.rate <= 0 || plan.rate > kMaxRate) {
    return invalid("an open loop needs a rate above 0, at most 10000000 requests a second; set the rate");
  }
  if (plan.connections == 0 || plan.connections > kMaxConnections) {
    return invalid("from 1 to 256 connections are possible");
  }
  if (plan.measured.count() < 0 || plan.warmup.count() < 0 || plan.timeout.count() <= 0) {
    return invalid("times must not be negative, and a request needs some time to be answered");
  }
  if (plan.measured.count() == 0 && plan.requests == 0 && plan.arrivals != Arrivals::kTrace) {
    return invalid("a load must end: set how many seconds or how many requests are measured");
  }
  return {};
}

Status check_parts(const std::vector<ConnectionPlan>& parts) {
  LoadPlan plan;
  plan.connections = static_cast<std::uint32_t>(std::min<std::size_t>(parts.size(), kMaxConnections + 1));
  if (parts.empty()) return invalid("a load without connections does nothing");
  for (const ConnectionPlan& part : parts) {
    const ConnectionPlan& first = parts.front();
    plan.arrivals = part.arrivals;
    plan.rate = part.rate;
    plan.curve = part.curve;
    plan.concurrency = part.concurrency;
    plan.warmup = part.warmup;
    plan.measured = part.measured;
    plan.requests = part.requests;
    plan.timeout = part.timeout;
    if (Status ok = check_plan(plan); !ok) return ok;
    if (part.first.count() < 0 || part.index_step == 0 || part.highest_rate < 0)
      return invalid("a part of a load begins after its start, and its requests have numbers of their own");
    if (part.arrivals != first.arrivals || part.warmup != first.warmup || part.measured != first.measured ||
        (part.requests == 0) != (first.requests == 0))
      return invalid("all parts of a load take the same time");
  }
  return {};
}

std::vector<ConnectionPlan> divide(const LoadPlan& plan) {
  const std::uint32_t n = useful_connections(plan);
  std::vector<ConnectionPlan> parts(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    ConnectionPlan& part = parts[i];
    part.arrivals = plan.arrivals;
    part.rate = plan.rate / n;
    part.curve = plan.curve;
    part.first = plan.rate > 0 ? Duration(static_cast<Duration::rep>(i * 1e9 / plan.rate)) : Duration(0);
    part.concurrency = static_cast<std::uint32_t>(share(plan.concurrency, i, n));
    part.first_index = i;
    part.index_step = n;
    part.seed = SeededRandom::for_item(plan.seed, i).next();
    part.warmup = plan.warmup;
    part.measured = plan.measured;
    part.requests = share(plan.requests, i, n);
    part.timeout = plan.timeout;
    part.samples = share(plan.samples, i, n);
    part.timeline = plan.timeline;
  }
  return parts;
}

}  // namespace volvox
