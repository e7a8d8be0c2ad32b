#include "simulation/cluster_world.h"

#include <algorithm>
#include <cmath>

#include "simulation/flow_node.h"
#include "simulation/scheduled_node.h"

namespace volvox {
namespace {

Duration from_seconds(double seconds) {
  return Duration(static_cast<Duration::rep>(seconds * 1e9));
}
constexpr double kSampleSeconds = 0.1, kTickSeconds = 0.05;

float ms_of(Duration span) {
  return static_cast<float>(static_cast<double>(span.count()) / 1e6);
}

SimCost cost_of(const ClusterScenario& scenario) {
  SimCost cost = linear_cost(scenario.task_us, scenario.row_us, scenario.max_rows);
  if (!scenario.costs.empty()) cost.type.costs = scenario.costs;
  cost.max_requests = scenario.max_requests_per_node;
  return cost;
}

}  // namespace

ClusterWorld::ClusterWorld(const ClusterScenario& scenario)
    : scenario_(scenario),
      chance_(scenario.seed),
      end_(from_seconds(scenario.seconds)),
      warm_(from_seconds(scenario.warmup_s)) {
  report_.scenario = scenario;
  RouterLimits limits;
  limits.placement = scenario.placement;
  limits.membership.max_members = 2 * scenario.nodes;
  for (std::uint32_t i = 0; i < scenario.routers; ++i)
    routers_.push_back(std::make_unique<Router>(limits, chance_.next()));
  make_models();
  make_nodes();
  double cells = 0, before = 0;
  for (const Model& model : models_) {
    cells += model.cells * (model.up_to - before);
    before = model.up_to;
  }
  per_second_ = scenario.utilisation * capacity_cells() / cells;
}

void ClusterWorld::make_models() {
  double all = 0;
  for (std::uint32_t i = 1; i <= scenario_.models; ++i) all += std::pow(i, -scenario_.zipf);
  double up_to = 0;
  for (std::uint32_t i = 1; i <= scenario_.models; ++i) {
    up_to += std::pow(i, -scenario_.zipf) / all;
    models_.push_back({"model" + std::to_string(i), scenario_.cells * (0.5 + chance_.unit()), up_to});
  }
}

std::unique_ptr<SimNode> ClusterWorld::make_node(const SimCost& cost, double speed) const {
  if (scenario_.engine == SimEngine::kScheduler)
    return std::make_unique<ScheduledNode>(cost, speed, scenario_.routers);
  return std::make_unique<FlowNode>(cost, speed, scenario_.routers);
}

void ClusterWorld::make_nodes() {
  const SimCost cost = cost_of(scenario_);
  for (std::uint32_t i = 0; i < scenario_.nodes; ++i) {
    const double speed = scenario_.speeds[i % scenario_.speeds.size()];
    nodes_.push_back({make_node(cost, speed),
                      CreditSplit(scenario_.max_requests_per_node, 0.25),
                      std::vector<Seat>(scenario_.routers),
                      speed,
                      0,
                      0,
                      0,
                      false,
                      TimePoint::max(),
                      {}});
    // Started over one report's time, so that they do not report all at once.
    post(What::kStart, TimePoint(from_ms(scenario_.report_every_ms * chance_.unit())), i);
  }
}

double ClusterWorld::capacity_cells() const {
  double cells = 0;
  for (const Node& node : nodes_) cells += 1e9 / node.engine->cell_ns();
  return cells;
}

void ClusterWorld::post(What what, TimePoint at, std::uint32_t node, std::uint32_t router) {
  events_.push({at, order_++, what, node, router, 0, {}, 0});
}

ScenarioReport ClusterWorld::run() {
  const TimePoint first(from_ms(2 * scenario_.report_every_ms + scenario_.report_delay_ms));
  post(What::kArrival, first);
  post(What::kSample, warm_);
  for (std::uint32_t i = 0; i < scenario_.routers; ++i)
    post(What::kRouterTick, TimePoint(from_seconds(kTickSeconds * chance_.unit())), 0, i);
  const auto trouble_from = [&](What what, double per_second) {
    if (per_second > 0) post(what, first + from_seconds(chance_.exponential() / per_second));
  };
  trouble_from(What::kDeath, scenario_.churn_per_minute * scenario_.nodes / 60);
  trouble_from(What::kSlow, scenario_.stragglers * scenario_.nodes / scenario_.straggler_s);
  trouble_from(What::kCut, scenario_.partitions_per_minute / 60);
  while (!events_.empty() && events_.top().at <= end_) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    handle(event);
  }
  report_.unfinished = open_.used();
  return std::move(report_);
}

void ClusterWorld::handle(const Event& event) {
  switch (event.what) {
    case What::kArrival:
      return arrive();
    case What::kSubmit:
      return receive(event);
    case What::kNodeEnd:
      return finish(event);
    case What::kResult:
      return answer(event);
    case What::kNodeReport:
      if (event.life == nodes_[event.node].life && nodes_[event.node].alive) write_reports(event.node);
      return;
    case What::kReports:
      return deliver_reports(event.node, event.life);
    case What::kRouterTick:
      return tick(event.router);
    case What::kDeath:
      return trouble(What::kDeath, now_ + from_seconds(scenario_.restart_s));
    case What::kStart:
      return start(event.node);
    case What::kSlow:
      return trouble(What::kSlow, now_ + from_seconds(scenario_.straggler_s));
    case What::kFast: {
      nodes_[event.node].engine->set_speed(nodes_[event.node].nominal, now_);
      return watch(event.node);
    }
    case What::kCut:
      return trouble(What::kCut, now_ + from_seconds(scenario_.partition_s));
    case What::kHeal:
      nodes_[event.node].seats[event.router].cut = false;
      return;
    case What::kSample:
      return sample();
  }
}

RequestInfo ClusterWorld::info(const Open& open) const {
  RequestInfo info;
  info.model = models_[open.model].name;
  info.cells_hint = open.cells;
  info.deadline = open.deadline;
  return info;
}

void ClusterWorld::arrive() {
  const double seconds = static_cast<double>(now_.time_since_epoch().count()) / 1e9;
  const double wave = 1 + scenario_.wave * std::sin(6.283185307179586 * seconds / scenario_.wave_s);
  post(What::kArrival, now_ + from_seconds(chance_.exponential() / (per_second_ * std::max(wave, 0.01))));
  const double drawn = chance_.unit() * models_.back().up_to;
  const auto model = std::upper_bound(models_.begin(), models_.end(), drawn,
                                      [](double value, const Model& m) { return value < m.up_to; });
  const std::uint32_t index = open_.take();
  Open& open = open_[index];
  open.model = static_cast<std::uint32_t>(std::min(model, models_.end() - 1) - models_.begin());
  open.arrival = now_;
  open.deadline = now_ + from_ms(scenario_.deadline_ms);
  open.cells = static_cast<std::uint32_t>(1 + models_[open.model].cells * (0.1 + 1.8 * chance_.unit()));
  open.router = static_cast<std::uint32_t>(chance_.below(scenario_.routers));
  ++report_.requests;
  // With its generation: the index will be another request's.
  const std::uint64_t tag = std::uint64_t{open_.generation(index)} << 32 | index;
  const auto placed = routers_[open.router]->place(tag, info(open), now_);
  if (!placed) return refuse(index, placed.error().code);
  send(open.router, *placed, open.cells);
}

void ClusterWorld::refuse(std::uint32_t open, ErrorCode code) {
  ++report_.refused[code];
  open_.give_back(open);
}

void ClusterWorld::send(std::uint32_t router, const Placement& placement, std::uint32_t cells) {
  const Member* member = routers_[router]->members().find(placement.node);
  const auto node = static_cast<std::uint32_t>(std::stoul(member->name));
  Event event{now_ + from_seconds(scenario_.link_us / 1e6),
              order_++,
              What::kSubmit,
              node,
              router,
              nodes_[node].life,
              placement.attempt,
              cells};
  events_.push(event);
}

void ClusterWorld::receive(const Event& event) {
  Node& node = nodes_[event.node];
  // What is sent to a dead process, or into a cut link, is gone: the router notices by itself.
  if (!node.alive || node.life != event.life || node.seats[event.router].cut) return;
  if (!node.credit.take(event.router, 1)) return;
  node.engine->add({event.router, event.attempt, event.cells}, now_);
  watch(event.node);
}

void ClusterWorld::watch(std::uint32_t index) {
  Node& node = nodes_[index];
  const auto next = node.engine->next_end();
  if (!next || *next >= node.scheduled) return;
  node.scheduled = *next;
  post(What::kNodeEnd, *next, index);
}

void ClusterWorld::finish(const Event& event) {
  Node& node = nodes_[event.node];
  if (event.at != node.scheduled) return;  // an earlier look replaced this one
  node.scheduled = TimePoint::max();
  done_.clear();
  node.engine->finished(now_, done_);
  for (const SimRequest& request : done_) {
    node.credit.finish(request.router, 1);
    if (node.seats[request.router].cut) continue;
    events_.push({now_ + from_seconds(scenario_.link_us / 1e6), order_++, What::kResult, event.node,
                  request.router, node.life, request.attempt, 0});
  }
  watch(event.node);
}

void ClusterWorld::answer(const Event& event) {
  const auto request = routers_[event.router]->end(event.attempt);
  if (!request) {
    ++report_.late_answers;
    return;
  }
  const auto index = static_cast<std::uint32_t>(*request);
  if (!open_.valid(index, static_cast<std::uint32_t>(*request >> 32))) {
    ++report_.twice;
    return;
  }
  ++report_.completed;
  if (now_ >= warm_) report_.latencies_ms.push_back(ms_of(now_ - open_[index].arrival));
  open_.give_back(index);
}

void ClusterWorld::tick(std::uint32_t index) {
  Router& router = *routers_[index];
  post(What::kRouterTick, now_ + from_seconds(kTickSeconds), 0, index);
  RouterEvents events;
  router.advance(now_, events);
  const Ping ping = router.ping(now_);
  for (Node& node : nodes_) {
    const Seat& seat = node.seats[index];
    if (!node.alive || seat.cut || router.members().find(seat.id) == nullptr) continue;
    node.seats[index].echo = ping;
    const CreditLine& credit = router.request_credit(seat.id);
    node.credit.heard(index, credit.wanted(), credit.given_back());
  }
  take_in(index, events);
}

void ClusterWorld::take_in(std::uint32_t index, const RouterEvents& events) {
  Router& router = *routers_[index];
  for (const RouterEvent& event : events) {
    if (event.kind == RouterEvent::Kind::kMember) {
      report_.suspicions += event.member.kind == MemberEvent::Kind::kSuspected ? 1 : 0;
      continue;
    }
    if (event.kind != RouterEvent::Kind::kRetry) continue;
    const auto request = router.request(event.attempt);
    if (!request) continue;
    const auto open = static_cast<std::uint32_t>(*request);
    const auto placed = router.retry(event.attempt, info(open_[open]), now_);
    if (!placed) {
      refuse(open, placed.error().code);
      continue;
    }
    ++report_.retries;
    send(index, *placed, open_[open].cells);
  }
}

void ClusterWorld::sample() {
  post(What::kSample, now_ + from_seconds(kSampleSeconds));
  for (Node& node : nodes_) {
    if (!node.alive) continue;
    const double ns = node.engine->cells_left(now_) * node.engine->cell_ns();
    report_.loads_ms.push_back(static_cast<float>(ns / 1e6));
  }
}

}  // namespace volvox
