#include "simulation/cluster_world.h"

namespace volvox {
namespace {

constexpr std::uint64_t kNoBound = std::uint64_t{1} << 40;  // bytes

}  // namespace

std::vector<ModelOffer> ClusterWorld::offers(const Node& node) const {
  std::vector<ModelOffer> offers;
  for (const Model& model : models_) {
    offers.push_back({model.name, 1, 1, Duration(static_cast<Duration::rep>(node.measured_ns)),
                      static_cast<std::uint32_t>(model.cells)});
  }
  return offers;
}

void ClusterWorld::start(std::uint32_t index) {
  Node& node = nodes_[index];
  if (node.alive) return;
  node.alive = true;
  ++node.life;
  node.engine->clear(now_);
  node.engine->set_speed(node.nominal, now_);
  node.measured_ns = node.told_ns = node.engine->cell_ns();
  node.on_the_way.clear();
  for (std::uint32_t router = 0; router < scenario_.routers; ++router) join(index, router);
  write_reports(index);
}

void ClusterWorld::join(std::uint32_t index, std::uint32_t router) {
  Node& node = nodes_[index];
  if (node.seats[router].cut) return;
  RouterEvents events;
  const Incarnation incarnation = (std::uint64_t{index} << 32) + node.life;
  const auto joined = routers_[router]->join(std::to_string(index), incarnation, offers(node), now_, events);
  if (joined) {
    node.seats[router].id = *joined;
    node.credit.remove(router);
    node.credit.add(router);
  }
  take_in(router, events);
}

void ClusterWorld::die(std::uint32_t index) {
  Node& node = nodes_[index];
  node.alive = false;
  node.engine->clear(now_);
  for (std::uint32_t router = 0; router < scenario_.routers; ++router) {
    node.credit.remove(router);
    node.seats[router].id = {};
    node.seats[router].echo = -1;
  }
  ++report_.deaths;
}

void ClusterWorld::write_reports(std::uint32_t index) {
  Node& node = nodes_[index];
  node.measured_ns += (node.engine->cell_ns() - node.measured_ns) / 2;  // measured over some tasks
  const bool news = node.measured_ns > 1.05 * node.told_ns || node.measured_ns < 0.95 * node.told_ns;
  if (news) node.told_ns = node.measured_ns;
  node.credit.split();
  std::vector<LoadReport> reports(scenario_.routers);
  for (std::uint32_t router = 0; router < scenario_.routers; ++router) {
    LoadReport& report = reports[router];
    const double cells = node.engine->cells_of_others(router, now_);
    report.echo = node.seats[router].echo;
    report.work = Duration(static_cast<Duration::rep>(cells * node.measured_ns));
    report.rows = node.engine->rows_of_others(router);
    report.full_rows = scenario_.max_rows;
    report.requests = node.credit.grant(router);
    report.bytes = {kNoBound, kNoBound};
    if (news) report.cell_costs.assign(models_.size(), Duration(static_cast<Duration::rep>(node.told_ns)));
  }
  node.on_the_way.push_back(std::move(reports));
  Event event{now_ + from_ms(scenario_.link_us / 1e3 + scenario_.report_delay_ms),
              order_++,
              What::kReports,
              index,
              0,
              node.life,
              {},
              0};
  events_.push(event);
  event = {
      now_ + from_ms(scenario_.report_every_ms), order_++, What::kNodeReport, index, 0, node.life, {}, 0};
  events_.push(event);
}

void ClusterWorld::deliver_reports(std::uint32_t index, std::uint32_t life) {
  Node& node = nodes_[index];
  if (!node.alive || node.life != life) return;
  const std::vector<LoadReport> reports = std::move(node.on_the_way.front());
  node.on_the_way.erase(node.on_the_way.begin());
  for (std::uint32_t router = 0; router < scenario_.routers; ++router) {
    const Seat& seat = node.seats[router];
    if (seat.cut) continue;
    RouterEvents events;
    if (!routers_[router]->report(seat.id, reports[router], now_, events)) {
      ++report_.rejoins;
      join(index, router);
    }
    take_in(router, events);
  }
}

// One kind of trouble strikes a node at random, the next one is due, and it is over at `back`.
void ClusterWorld::trouble(What what, TimePoint back) {
  double per_second = scenario_.partitions_per_minute / 60;
  if (what == What::kDeath) per_second = scenario_.churn_per_minute * scenario_.nodes / 60;
  if (what == What::kSlow) per_second = scenario_.stragglers * scenario_.nodes / scenario_.straggler_s;
  post(what, now_ + from_ms(1e3 * chance_.exponential() / per_second));
  const auto index = static_cast<std::uint32_t>(chance_.below(scenario_.nodes));
  const auto router = static_cast<std::uint32_t>(chance_.below(scenario_.routers));
  Node& node = nodes_[index];
  if (!node.alive) return;
  if (what == What::kDeath) {
    die(index);
    post(What::kStart, back, index);
  } else if (what == What::kSlow) {
    node.engine->set_speed(node.nominal / scenario_.straggler_slowdown, now_);
    watch(index);
    post(What::kFast, back, index);
  } else if (!node.seats[router].cut) {
    node.seats[router].cut = true;
    post(What::kHeal, back, index, router);
  }
}

}  // namespace volvox
