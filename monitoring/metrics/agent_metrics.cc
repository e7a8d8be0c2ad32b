#include "monitoring/metrics/agent_metrics.h"

#include "monitoring/metrics/single_metrics.h"

namespace volvox {
namespace {

constexpr std::array<const char*, kAgentLoadEnds> kEnds{"done", "cut", "unbegun"};
constexpr std::array<const char*, kAgentRefusals> kReasons{"busy", "limit", "start", "unreadable",
                                                           "connection"};

}  // namespace

AgentMetrics::AgentMetrics(prometheus::Registry& registry)
    : busy_(single_gauge(registry, "volvox_agent_busy", "1: the agent has a load; it takes no other.")),
      offered_(single_counter(
          registry, "volvox_agent_requests_offered_total",
          "Requests that the agent has sent; of a load that goes on, as known up to half a second ago.")) {
  auto& loads = prometheus::BuildCounter()
                    .Name("volvox_agent_loads_total")
                    .Help(
                        "Loads that the agent took, by how they ended: as planned, before their time, or "
                        "without having "
                        "sent anything.")
                    .Register(registry);
  for (std::size_t i = 0; i < kAgentLoadEnds; ++i) loads_[i] = &loads.Add({{"end", kEnds[i]}});
  auto& refused =
      prometheus::BuildCounter()
          .Name("volvox_agent_refused_total")
          .Help(
              "What the agent did not do: a load beside another one, or beyond what --target and the "
              "--max options allow; a start that is not near; messages that it could not read; connections "
              "without a coordinator's key, or too many.")
          .Register(registry);
  for (std::size_t i = 0; i < kAgentRefusals; ++i) refused_[i] = &refused.Add({{"reason", kReasons[i]}});
  auto& requests = prometheus::BuildCounter()
                       .Name("volvox_agent_requests_total")
                       .Help(
                           "Requests of the agent's that have ended, with a result or without; known as "
                           "those that it sent.")
                       .Register(registry);
  completed_ = &requests.Add({{"outcome", "completed"}});
  failed_ = &requests.Add({{"outcome", "failed"}});
}

void AgentMetrics::begin() {
  busy_.Set(1);
  before_ = {};
}

void AgentMetrics::set(const AgentRequests& so_far) {
  follow(offered_, before_.offered, so_far.offered);
  follow(*completed_, before_.completed, so_far.completed);
  follow(*failed_, before_.failed, so_far.failed);
  before_ = so_far;
}

void AgentMetrics::set_door(const AgentDoorCounts& counts) {
  follow(counter_of(AgentRefusal::kConnection), door_.connections, counts.connections);
  follow(counter_of(AgentRefusal::kUnreadable), door_.messages, counts.messages);
  door_ = counts;
}

void AgentMetrics::end(AgentLoadEnd how) {
  busy_.Set(0);
  loads_[static_cast<std::size_t>(how)]->Increment();
}

}  // namespace volvox
