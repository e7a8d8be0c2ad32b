#include "actors/cluster_router.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/cluster_frames.h"
#include "actors/cluster_peer.h"
#include "actors/gateway.h"
#include "actors/handoff.h"
#include "actors/member_view.h"
#include "actors/messages.h"
#include "actors/router_admin.h"
#include "actors/router_limits.h"
#include "actors/shell.h"
#include "routing/index_pool.h"

namespace volvox {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(50);
// What a cell is taken to cost as long as no node has measured one.
constexpr Duration kUnmeasured = std::chrono::microseconds(100);

ClusterAttempt on_wire(const AttemptId& id) {
  return {id.index, id.generation, id.number};
}
AttemptId from_wire(const ClusterAttempt& attempt) {
  return {attempt.index, attempt.generation, attempt.number};
}

class ClusterRouterShell {
 public:
  static constexpr const char* kName = "cluster router";

  ClusterRouterShell(caf::event_based_actor* self, ClusterRouterSetup setup)
      : self_(self),
        setup_(std::move(setup)),
        limits_(wire_limits(setup_.config.wire)),
        flow_(cluster_flow_limits(setup_.config)),
        router_(router_limits(setup_.config.cluster), setup_.seed) {
    self_->set_down_handler([this](const caf::down_msg& down) { lose(down.source); });
  }

  caf::behavior behavior() {
    self_->delayed_send(self_, kTick, TickAtom::value);
    return {[this](const RunWork& run) {
              take_over();
              start(run.work);
            },
            [this](const CancelWork& cancel) { stop(cancel.key); },
            [this](const ClusterPacket& packet) { receive(packet); },
            [this](const ShowMembers& show_members) {
              take_over();
              show_members.tell(show());
            },
            [this](const DrainMember& drain_member) {
              take_over();
              drain_member.tell(drain(drain_member.name));
            },
            [this](TickAtom) { tick(); }};
  }

 private:
  struct Pending {
    WorkPtr work;
    AttemptId attempt;
    std::uint32_t next_row = 0;  // of a streamed answer: those before it are with the client
  };
  struct Peer {
    ClusterPeer link;
    std::optional<NodeId> node;  // once it joined
    std::vector<ClusterOffer> offers;
  };
  using PeerPtr = std::shared_ptr<Peer>;

  // Requests.

  RequestInfo info(const Work& work) const {
    const IncomingRequest& request = work.request();
    const RequestHeader& header = request.header;
    RequestInfo info;
    info.model = header.model;
    info.model_version = header.model_version;
    info.cells_hint = header.cells_hint;
    info.bytes = request.body->size();
    info.urgent = header.priority == WirePriority::kHigh;
    if (header.session && header.session->operation == SessionOperation::kBegin) {
      info.affinity = header.session->nonce;
    } else if (header.session) {
      info.home = header.session->home;
    }
    constexpr std::uint64_t kYear = 365ULL * 24 * 3600 * 1'000'000;
    if (header.deadline_us != 0)
      info.deadline = request.arrival + std::chrono::microseconds(std::min(header.deadline_us, kYear));
    return info;
  }

  void start(const WorkPtr& work) {
    const std::uint32_t index = pending_.take();
    pending_[index].work = work;
    by_key_[work->request().key] = index;
    go_on(index, router_.place(index, info(*work), steady_now()));
  }

  void go_on(std::uint32_t index, const Result<Placement>& placed) {
    if (!placed) return end(index, placed.error());
    Pending& pending = pending_[index];
    pending.attempt = placed->attempt;
    const auto peer = by_node_.find(placed->node.index);
    // The last row that the client has is wanted once more: an answer cannot begin behind its end.
    const std::uint32_t from = std::max(pending.next_row, 1U) - 1;
    auto submit =
        submit_frames(on_wire(placed->attempt), pending.work->request(), from, steady_now(), limits_);
    Status sent = submit ? Status{} : tl::unexpected(submit.error());
    if (sent && peer != by_node_.end()) sent = peer->second->link.send(*submit);
    if (sent) return;
    router_.end(placed->attempt);
    end(index, sent.error());
  }

  void end(std::uint32_t index, const Error& error) {
    const std::uint64_t wait = std::uint64_t{setup_.config.limits.retry_after_ms} * 1000;
    const WorkPtr work = release(index);
    work->settle(error, error.code == ErrorCode::kOverloaded ? wait : 0);
  }

  WorkPtr release(std::uint32_t index) {
    WorkPtr work = std::move(pending_[index].work);
    by_key_.erase(work->request().key);
    pending_.give_back(index);
    return work;
  }

  void stop(std::uint64_t key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    const std::uint32_t index = found->second;
    const AttemptId attempt = pending_[index].attempt;
    if (const auto node = router_.node(attempt)) {
      const auto peer = by_node_.find(node->index);
      if (peer != by_node_.end()) static_cast<void>(peer->second->link.send(ClusterCancel{on_wire(attempt)}));
    }
    router_.end(attempt);
    end(index, {ErrorCode::kCancelled, "nobody waits for the request any more"});
  }

  // What nodes say.

  void receive(const ClusterPacket& packet) {
    const auto sender = caf::actor_cast<caf::actor>(self_->current_sender());
    if (!sender) return;
    PeerPtr& known = peers_[sender.address()];
    if (!known) {
      if (peers_.size() > 2 * std::size_t{setup_.config.cluster.max_nodes}) {
        peers_.erase(sender.address());
        return;
      }
      known = std::make_shared<Peer>(Peer{ClusterPeer(self_, sender, flow_), {}, {}});
      self_->monitor(sender);
    }
    const PeerPtr peer = known;
    auto message = peer->link.take(packet);
    if (!message) return drop(peer, message.error());
    if (*message) std::visit([&](const auto& said) { hear(peer, said); }, **message);
  }

  template <class Other>
  void hear(const PeerPtr&, const Other&) {}  // not for a router, or newer than this one

  void hear(const PeerPtr& peer, const ClusterJoin& join) {
    ClusterJoinReply reply;
    reply.name = setup_.config.server.name;
    reply.incarnation = setup_.incarnation;
    const auto joined = take_in(peer, join);
    reply.accepted = joined.has_value();
    if (!joined) {
      reply.error = joined.error();
      setup_.metrics->join_refused();
      spdlog::warn("node '{}' may not join: {}", join.name, to_string(joined.error()));
    }
    static_cast<void>(peer->link.send(reply));
  }

  Result<NodeId> take_in(const PeerPtr& peer, const ClusterJoin& join) {
    if (join.cluster != setup_.config.cluster.name) {
      return fail(ErrorCode::kPermissionDenied, "this is cluster '" + setup_.config.cluster.name +
                                                    "', not '" + join.cluster + "'; see cluster.name");
    }
    if (Status known = check_versions(join.name, join.version, join.oldest_version); !known)
      return tl::unexpected(std::move(known).error());
    RouterEvents events;
    std::vector<ModelOffer> offers;
    for (const ClusterOffer& offer : join.offers) {
      const Duration cost =
          typical(offer.model, offer.version, Duration(static_cast<std::int64_t>(offer.cell_ns)));
      offers.push_back({offer.model, offer.version, offer.digest, cost, offer.cells});
    }
    auto node = router_.join(join.name, join.incarnation, offers, steady_now(), events);
    if (node) {
      peer->node = *node;
      peer->offers = join.offers;
    }
    act(events);  // the end of an earlier membership first
    if (node) {
      by_node_[node->index] = peer;
      if (setup_.models) setup_.models->joined(node->index, join.offers);
    }
    return node;
  }

  // A node that has not measured a cost yet is taken to be like the others.
  Duration typical(const std::string& model, std::uint32_t version, Duration measured) {
    Duration& usual = typical_.try_emplace({model, version}, kUnmeasured).first->second;
    if (measured <= Duration::zero()) return usual;
    return usual = measured;
  }

  void hear(const PeerPtr& peer, const ClusterReport& said) {
    LoadReport report;
    report.echo = said.echo;
    report.work = Duration(static_cast<std::int64_t>(said.work_ns));
    report.wait = Duration(static_cast<std::int64_t>(said.wait_ns));
    report.rows = said.rows;
    report.full_rows = said.full_rows;
    report.requests = {said.request_limit, said.request_window};
    report.bytes = {said.byte_limit, said.byte_window};
    for (std::size_t i = 0; i < std::min(said.cell_ns.size(), peer->offers.size()); ++i) {
      const ClusterOffer& offer = peer->offers[i];
      report.cell_costs.push_back(
          typical(offer.model, offer.version, Duration(static_cast<std::int64_t>(said.cell_ns[i]))));
    }
    RouterEvents events;
    const bool member = peer->node && router_.report(*peer->node, report, steady_now(), events);
    act(events);
    if (!member) static_cast<void>(peer->link.send(ClusterRejoin{"this router takes the node for dead"}));
  }

  void hear(const PeerPtr&, const ClusterResult& result) {
    const AttemptId attempt = from_wire(result.attempt);
    const auto request = router_.request(attempt);
    if (!request) return setup_.metrics->late_answer();
    const auto index = static_cast<std::uint32_t>(*request);
    auto received = read_result(result, limits_);
    if (!received) {
      spdlog::error("a node sent a result that cannot be read: {}", to_string(received.error()));
      received = ReceivedResult{};
      received->outcome.error =
          Error{ErrorCode::kInternal, "the node's result cannot be read; see the router's log"};
    }
    if (!result.final && !received->outcome.error) return forward(index, std::move(*received));
    if (may_retry(*pending_[index].work, received->outcome)) return retry(index);
    router_.end(attempt);
    const WorkPtr work = release(index);
    if (setup_.models) setup_.models->answered(work->request(), received->outcome);
    work->settle(std::move(received->outcome));
  }

  void forward(std::uint32_t index, ReceivedResult received) {
    Pending& pending = pending_[index];
    if (received.index < pending.next_row) return;
    pending.next_row = received.index + 1;
    pending.work->send_partial(received.index, std::move(received.outcome));
  }

  // A session's part is its home's business.
  static bool may_retry(const Work& work, const Outcome& outcome) {
    if (!outcome.error || work.request().header.session) return false;
    return outcome.error->code == ErrorCode::kUnavailable || outcome.error->code == ErrorCode::kOverloaded;
  }

  void retry(std::uint32_t index) {
    const auto placed = router_.retry(pending_[index].attempt, info(*pending_[index].work), steady_now());
    if (placed) setup_.metrics->retried();
    go_on(index, placed);
  }

  void hear(const PeerPtr& peer, const ClusterDrain& drain) {
    RouterEvents events;
    if (peer->node) router_.drain(*peer->node, events);
    spdlog::info("a node drains: {}", drain.why);
    act(events);
  }

  void hear(const PeerPtr& peer, const ClusterLeave&) {
    RouterEvents events;
    if (peer->node) router_.leave(*std::exchange(peer->node, std::nullopt), events);
    act(events);
  }

  // Members.

  void act(const RouterEvents& events) {
    for (const RouterEvent& event : events) {
      switch (event.kind) {
        case RouterEvent::Kind::kMember:
          note(event.member);
          break;
        case RouterEvent::Kind::kConflict:
          setup_.metrics->conflict();
          spdlog::error(
              "a node offers '{}' version {} with other weights ({:016x}) than the rest ({:016x}); it gets "
              "no traffic for it",
              event.conflict.model, event.conflict.version, event.conflict.digest, event.conflict.expected);
          break;
        case RouterEvent::Kind::kRetry:
          if (const auto request = router_.request(event.attempt))
            retry(static_cast<std::uint32_t>(*request));
          break;
      }
    }
  }

  void note(const MemberEvent& event) {
    log_member(event, *setup_.metrics);
    if (event.kind != MemberEvent::Kind::kDied && event.kind != MemberEvent::Kind::kLeft) return;
    by_node_.erase(event.node.index);
    if (setup_.models) setup_.models->left(event.node.index);
  }

  // What the operator asks.

  std::vector<MemberView> show() const {
    std::vector<MemberView> views;
    for (const auto& [index, peer] : by_node_) views.push_back(view_of(router_, *peer->node, peer->offers));
    std::sort(views.begin(), views.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return views;
  }

  Status drain(const std::string& name) {
    const auto node = router_.members().find(name);
    if (!node || !by_node_.contains(node->index)) {
      return invalid("no node '" + name + "' is a member of this router; volvox status --admin lists them");
    }
    RouterEvents events;
    router_.drain(*node, events);
    act(events);
    return by_node_.at(node->index)
        ->link.send(ClusterDrain{"the operator of router '" + setup_.config.server.name + "' asks for it"});
  }

  void drop(const PeerPtr& peer, const Error& error) {
    spdlog::error("a node does not keep to the protocol: {}", to_string(error));
    lose(peer->link.handle().address());
  }

  void lose(const caf::actor_addr& address) {
    const auto found = peers_.find(address);
    if (found == peers_.end()) return;
    const PeerPtr peer = found->second;
    peers_.erase(found);
    RouterEvents events;
    if (peer->node) router_.disconnected(*peer->node, steady_now(), events);
    act(events);
  }

  void tick() {
    self_->delayed_send(self_, kTick, TickAtom::value);
    RouterEvents events;
    router_.advance(steady_now(), events);
    act(events);
    const Ping ping = router_.ping(steady_now());
    for (const auto& [index, peer] : by_node_) {
      const CreditLine& requests = router_.request_credit(*peer->node);
      const CreditLine& bytes = router_.byte_credit(*peer->node);
      static_cast<void>(peer->link.send(
          ClusterPing{ping, requests.wanted(), bytes.wanted(), requests.given_back(), bytes.given_back()}));
    }
    setup_.metrics->set_members(router_.members().size(), router_.in_flight());
  }

  caf::event_based_actor* self_;
  const ClusterRouterSetup setup_;
  const WireLimits limits_;
  const ClusterFlowLimits flow_;
  Router router_;
  IndexPool<Pending> pending_;                               // by the request's number at the Router
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;  // → pending_
  std::map<caf::actor_addr, PeerPtr> peers_;
  std::unordered_map<std::uint32_t, PeerPtr> by_node_;  // members, by the index of their id
  std::map<std::pair<std::string, std::uint32_t>, Duration> typical_;
};

}  // namespace

caf::actor spawn_cluster_router(caf::actor_system& system, ClusterRouterSetup setup) {
  return system.spawn(run_shell<ClusterRouterShell, ClusterRouterSetup>, std::move(setup));
}

}  // namespace volvox
