#include "actors/cluster/cluster_node.h"

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "actors/cluster/cluster_dialer.h"
#include "actors/cluster/cluster_frames.h"
#include "actors/cluster/cluster_packet.h"
#include "actors/cluster/cluster_peer.h"
#include "actors/cluster/router_finder.h"
#include "actors/node/model_host.h"
#include "actors/system/actor_system.h"
#include "actors/system/handoff.h"
#include "actors/work/messages.h"
#include "base/clock.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

// Where nobody listens: what answers there is the test.
const std::string kOne = "127.0.0.1:1", kTwo = "127.0.0.1:2";

// A router as a node sees it: it says what the test says, and reads what it is told.
class FakeRouter {
 public:
  FakeRouter(caf::actor_system& system, caf::actor node, const ClusterFlowLimits& limits)
      : self_(system), node_(std::move(node)), link_(LinkEnd::kAnswers, limits) {}

  // The node has reached it there, and may join; its first report.
  ClusterReport take_in(std::uint32_t seat, const std::string& address) {
    reached(seat, address);
    link_.let_in();
    ClusterJoinReply reply;
    reply.accepted = true;
    reply.name = "router";
    say(reply);
    return next<ClusterReport>();
  }
  void refuse(std::uint32_t seat, const std::string& address) {
    reached(seat, address);
    ClusterJoinReply reply;
    reply.name = "router";
    reply.error = {ErrorCode::kInvalidArgument, "not here"};
    say(reply);
  }
  void say(const ClusterMessage& message) {
    ASSERT_TRUE(link_.push(message));
    flush();
  }
  void submit(std::uint32_t number, std::uint32_t cells_hint, const std::string& model = "check",
              std::uint32_t version = 0) {
    auto request = std::make_shared<IncomingRequest>();
    request->header.model = model;
    request->header.request_id = number;
    request->header.cells_hint = cells_hint;
    const auto submit =
        submit_frames({number, 0, 1}, request, request->body.message(request, WireLimits{}).value(),
                      {0, version}, steady_now(), WireLimits{});
    ASSERT_TRUE(submit);
    say(*submit);
  }
  // The next message of this kind; those before it are dropped.
  template <class Kind>
  Kind next() {
    Kind found{};
    bool over = false;
    while (!over) {
      self_->receive(
          [&](const ClusterPacket& packet) {
            take_over();
            auto message = link_.take(packet.bytes.whole());
            flush();
            over = !message;
            EXPECT_FALSE(over) << "the node does not keep to the protocol";
            if (over || !*message) return;
            auto* said = std::get_if<Kind>(&**message);
            if (said == nullptr) return;
            found = std::move(*said);
            over = true;
          },
          caf::after(kLongEnough) >>
              [&] {
                over = true;
                ADD_FAILURE() << "the node says nothing";
              });
    }
    return found;
  }

  // Whether one of this kind waits to be read.
  template <class Kind>
  bool was_told() {
    bool told = false, over = false;
    while (!over) {
      self_->receive(
          [&](const ClusterPacket& packet) {
            take_over();
            const auto message = link_.take(packet.bytes.whole());
            told = told || (message && *message && std::holds_alternative<Kind>(**message));
          },
          caf::after(std::chrono::seconds(0)) >> [&] { over = true; });
    }
    return told;
  }

  ClusterJoin join;  // of the node

 private:
  void reached(std::uint32_t seat, const std::string& address) {
    caf::anon_send(node_, Dialed{seat, address, caf::actor_cast<caf::actor>(self_.ptr())});
    join = next<ClusterJoin>();
  }
  void flush() {
    while (auto bytes = link_.next()) {
      hand_over();
      self_->send(node_, ClusterPacket{std::move(*bytes)});
    }
  }

  const caf::scoped_actor self_;
  const caf::actor node_;
  ClusterLink link_;
};

// A node's link between routers and whoever runs requests, of all of whom the test decides what they say. It
// reports when a router takes it in, and hardly ever else, so that no clock has a say.
class ClusterNodeActor : public testing::Test {
 protected:
  ClusterNodeActor() {
    EXPECT_TRUE(host_.install(models_));
    runner_slot_->set(caf::actor_cast<caf::actor>(runner_.ptr()));
    ClusterSection cluster;
    cluster.routers = kOne + "," + kTwo;
    cluster.report_ms = 3'600'000;
    cluster.max_requests = 8;
    limits_ = cluster_flow_limits(config_, cluster);
    link_ = spawn_cluster_node(system_, {node_, runner_slot_, std::make_shared<Admission>(config_, node_),
                                         cluster, 1, *transport_, &monitor_.cluster(), ProcessHooks{}});
    caf::anon_send(link_, RoutersFound{{kOne, kTwo}});  // as it finds them, too, but not later than here
  }
  ~ClusterNodeActor() override {
    runner_slot_->set({});
    caf::anon_send_exit(link_, caf::exit_reason::user_shutdown);
  }

  static ServeConfig one_row() {
    ServeConfig config = loopback();
    config.batching.max_batch = 1;
    return config;
  }
  // What the node has been sent to run.
  WorkPtr next_work() {
    WorkPtr work;
    runner_->receive(
        [&](const RunWork& run) {
          take_over();
          work = run.work;
        },
        caf::after(kLongEnough) >> [] { ADD_FAILURE() << "nothing is run"; });
    return work;
  }

  const Scratch scratch_;
  const Models models_ = write_models(scratch_);
  const ServeConfig config_ = one_row();
  Monitor monitor_{"test"};
  const NodePtr node_ =
      make_node(config_, Devices{std::make_shared<TimedDevice>(TimedCost{100, 0})}, monitor_);
  ModelHost host_{node_, actor_slots(1), {}, monitor_.models()};
  ClusterFlowLimits limits_;
  Result<std::shared_ptr<const ClusterTransport>> transport_ = ClusterTransport::open({}, monitor_.cluster());
  SystemConfig system_config_{1, transport_->get()};
  ActorSystem system_{system_config_};
  const caf::scoped_actor runner_{system_};
  const std::shared_ptr<ActorSlot> runner_slot_ = std::make_shared<ActorSlot>();
  caf::actor link_;
};

// Routers send elsewhere what could not begin there in time.
TEST_F(ClusterNodeActor, TellsHowLongARequestOfEachModelWouldWait) {
  const ModelId check = (*node_->catalog->find("check", 0))->id;
  std::deque<WorkPlace> accepted;
  for (int i = 0; i < 8; ++i)
    accepted.emplace_back(node_->workload, check, PriorityClass::kNormal, false)
        .correct(1000, Duration::max());
  const auto wait_ns = static_cast<std::uint64_t>(node_->workload->wait(check).count());
  ASSERT_GT(wait_ns, 0U);
  FakeRouter router(system_, link_, limits_);
  const ClusterReport report = router.take_in(0, kOne);
  ASSERT_EQ(report.waits_ns.size(), models_.size());
  ASSERT_EQ(router.join.offers.size(), models_.size());
  for (std::size_t i = 0; i < models_.size(); ++i)
    EXPECT_EQ(report.waits_ns[i], router.join.offers[i].model == "check" ? wait_ns : 0)
        << router.join.offers[i].model;
}

// Which its router has chosen where the client left it open. It may not know yet what there is now.
TEST_F(ClusterNodeActor, RunsTheVersionThatItsRouterHasChosen) {
  FakeRouter router(system_, link_, limits_);
  router.take_in(0, kOne);
  router.submit(1, 0, "check", 1);
  const WorkPtr chosen = next_work();
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->request().header.model_version, 1U);
  router.submit(2, 0, "check", 9);
  const WorkPtr gone = next_work();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->request().header.model_version, 0U);
  gone->settle(Outcome{});
  const ClusterResult result = router.next<ClusterResult>();
  EXPECT_EQ(read_result(result, WireLimits{})->outcome.model_version, 1U) << "it says which it took";
}

// One router's client must not keep the others away from the node.
TEST_F(ClusterNodeActor, TakesNoRequestForLongerThanItsModelAllows) {
  FakeRouter one(system_, link_, limits_), other(system_, link_, limits_);
  one.take_in(0, kOne);
  one.submit(1, 0);
  {
    const WorkPtr measured = next_work();
    ASSERT_TRUE(measured);
    Outcome outcome;
    outcome.cells = 1;
    outcome.compute_us = 1000;
    measured->settle(std::move(outcome));
  }
  one.next<ClusterResult>();
  one.submit(2, UINT32_MAX);
  const WorkPtr running = next_work();
  ASSERT_TRUE(running);
  const ClusterReport report = other.take_in(1, kTwo);
  EXPECT_EQ(report.rows, 1U);
  for (const ClusterOffer& offer : other.join.offers) {
    if (offer.model != "check") continue;
    EXPECT_LT(offer.max_cells, UINT32_MAX);
    EXPECT_EQ(report.work_ns, std::uint64_t{offer.max_cells} * 1'000'000) << "a millisecond for each cell";
  }
}

// Its router has spent credit on it, and would have less for ever.
TEST_F(ClusterNodeActor, WhatItRefusesGivesItsCreditBack) {
  FakeRouter one(system_, link_, limits_), other(system_, link_, limits_);
  const ClusterReport first = one.take_in(0, kOne);
  ASSERT_GT(first.request_limit, 0U);
  ASSERT_LE(first.request_limit, 8U);
  for (std::uint32_t i = 1; i <= first.request_limit; ++i) {
    one.submit(i, 0, "nobody");
    EXPECT_TRUE(one.next<ClusterResult>().final);
  }
  other.take_in(1, kTwo);  // all are told anew what they may send
  EXPECT_GT(one.next<ClusterReport>().request_limit, first.request_limit);
}

// One router lets it go at once, and another keeps it: it goes on to report, and the first one, which knows
// it no more, asks it to join again.
TEST_F(ClusterNodeActor, WhoLeavesDoesNotComeBack) {
  FakeRouter quick(system_, link_, limits_), slow(system_, link_, limits_);
  quick.take_in(0, kOne);
  slow.take_in(1, kTwo);
  auto left = std::make_shared<std::promise<void>>();
  auto gone = left->get_future();
  caf::anon_send(link_, LeaveCluster{steady_now() + kLongEnough, std::move(left)});
  quick.next<ClusterLeave>();
  quick.say(ClusterLeave{"goodbye"});
  quick.say(ClusterRejoin{"who is there?"});
  slow.next<ClusterLeave>();
  slow.say(ClusterLeave{"goodbye"});
  ASSERT_EQ(gone.wait_for(kLongEnough), std::future_status::ready);
  EXPECT_FALSE(quick.was_told<ClusterJoin>());
}

// A router that has taken it in may send at once.
TEST_F(ClusterNodeActor, SaysWithItsJoinWhatItTakes) {
  FakeRouter router(system_, link_, limits_);
  const ClusterReport report = router.take_in(0, kOne);
  EXPECT_GT(router.join.request_limit, 0U);
  EXPECT_EQ(router.join.request_limit, report.request_limit);
  EXPECT_EQ(router.join.request_window, report.request_window);
  EXPECT_GT(router.join.byte_limit, 0U);
  EXPECT_EQ(router.join.byte_limit, report.byte_limit);
  EXPECT_EQ(router.join.byte_window, report.byte_window);
}

TEST_F(ClusterNodeActor, ARouterThatRefusesItKeepsNothingOfWhatItTakes) {
  FakeRouter closed(system_, link_, limits_), open(system_, link_, limits_);
  closed.refuse(0, kOne);
  const std::uint64_t offered = closed.join.request_limit;
  EXPECT_EQ(open.take_in(1, kTwo).request_limit, offered) << "as much as if there were no other";
}

}  // namespace
}  // namespace volvox
