#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/index_pool.h"
#include "base/time.h"
#include "routing/credits.h"
#include "routing/router.h"
#include "shapes/random.h"
#include "simulation/cluster_report.h"
#include "simulation/cluster_scenario.h"
#include "simulation/sim_node.h"

namespace volvox {

inline Duration from_ms(double ms) {
  return Duration(static_cast<Duration::rep>(ms * 1e6));
}

// A whole cluster in virtual time: the production Router, many of them, in front of simulated nodes, with
// messages that take their time, stale reports, dying processes, slow machines and cut links. One thread; the
// same scenario gives the same report, to the last bit.
class ClusterWorld {
 public:
  // The scenario must have passed check().
  explicit ClusterWorld(const ClusterScenario& scenario);

  ScenarioReport run();

 private:
  enum class What : std::uint8_t {
    kArrival,     // of a request at a router
    kSubmit,      // reaches a node
    kNodeEnd,     // a node may have finished something
    kResult,      // reaches a router
    kNodeReport,  // a node writes its reports
    kReports,     // they reach the routers
    kRouterTick,
    kDeath,
    kStart,  // of a node's process
    kSlow,
    kFast,
    kCut,
    kHeal,
    kSample,
  };
  struct Event {
    TimePoint at;
    std::uint64_t order = 0;
    What what{};
    std::uint32_t node = 0, router = 0;
    std::uint32_t life = 0;  // of the node's process
    AttemptId attempt;
    std::uint32_t cells = 0;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  // What a node's process knows of a router.
  struct Seat {
    NodeId id;  // what the router calls it
    Ping echo = -1;
    bool cut = false;
  };
  struct Node {
    std::unique_ptr<SimNode> engine;
    CreditSplit credit;
    std::vector<Seat> seats;  // by router
    double nominal = 1;       // speed
    double measured_ns = 0;   // of a cell, as it believes
    double told_ns = 0;
    std::uint32_t life = 0;
    bool alive = false;
    TimePoint scheduled = TimePoint::max();           // of the next kNodeEnd
    std::vector<std::vector<LoadReport>> on_the_way;  // reports, by router; the oldest first
  };
  struct Model {
    std::string name;
    double cells = 0;  // of a request, on average
    double up_to = 0;  // cumulative share of the demand
  };
  struct Open {
    TimePoint arrival, deadline;
    std::uint32_t model = 0, cells = 0, router = 0;
  };

  void post(What what, TimePoint at, std::uint32_t node = 0, std::uint32_t router = 0);
  void handle(const Event& event);
  void make_models();
  std::unique_ptr<SimNode> make_node(const SimCost& cost, double speed) const;
  void make_nodes();
  double capacity_cells() const;
  std::vector<ModelOffer> offers(const Node& node) const;

  void arrive();
  void send(std::uint32_t router, const Placement& placement, std::uint32_t cells);
  void receive(const Event& event);
  void finish(const Event& event);
  void answer(const Event& event);
  void refuse(std::uint32_t open, ErrorCode code);
  void watch(std::uint32_t node);

  void start(std::uint32_t node);
  void die(std::uint32_t node);
  void join(std::uint32_t node, std::uint32_t router);
  void write_reports(std::uint32_t node);
  void deliver_reports(std::uint32_t node, std::uint32_t life);
  void tick(std::uint32_t router);
  void take_in(std::uint32_t router, const RouterEvents& events);
  void trouble(What what, TimePoint back);
  void sample();
  RequestInfo info(const Open& open) const;

  ClusterScenario scenario_;
  SeededRandom chance_;
  TimePoint now_{}, end_, warm_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::vector<Model> models_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Router>> routers_;
  IndexPool<Open> open_;
  double per_second_ = 0;
  ScenarioReport report_;
  std::vector<SimRequest> done_;
};

}  // namespace volvox
