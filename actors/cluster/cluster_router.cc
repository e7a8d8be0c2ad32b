#include "actors/cluster/cluster_router.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/admin/router_admin.h"
#include "actors/cluster/cluster_frames.h"
#include "actors/cluster/member_view.h"
#include "actors/cluster/node_peers.h"
#include "actors/cluster/router_limits.h"
#include "actors/cluster/router_questions.h"
#include "actors/edge/edge_settings.h"
#include "actors/process/liveness.h"
#include "actors/sessions/session_token.h"
#include "actors/system/handoff.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"
#include "base/clock.h"
#include "base/index_pool.h"
#include "routing/part_verdicts.h"
#include "routing/refusals.h"

namespace volvox {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(50);
// What a cell is taken to cost as long as no node has measured one.
constexpr Duration kUnmeasured = std::chrono::microseconds(100);
constexpr std::size_t kMostCosts = 65'536;  // of models that nodes have measured

class ClusterRouterShell {
 public:
  static constexpr const char* kName = "cluster router";

  ClusterRouterShell(caf::event_based_actor* self, ClusterRouterSetup setup)
      : self_(self),
        setup_(std::move(setup)),
        limits_(wire_limits(setup_.config.wire)),
        router_(router_limits(setup_.config.cluster), setup_.seed),
        parts_(std::chrono::milliseconds(setup_.config.cluster.verdict_ms)),
        peers_(self, setup_.config, setup_.config.cluster, *setup_.metrics) {
    self_->set_down_handler([this](const caf::down_msg& down) { lose(down.source); });
    if (setup_.models) setup_.models->clear();  // what one before this one knew: its nodes join anew
  }

  caf::behavior behavior() {
    self_->delayed_send(self_, kTick, TickAtom::value);
    return {[this](const RunWork& run) {
              take_over();
              start(run.work);
            },
            [this](const RunWorks& run) {
              take_over();
              for (const WorkPtr& work : *run.works) start(work);
            },
            [this](const CancelWork& cancel) { stop(cancel); },
            [this](const CancelWorks& cancel) {
              take_over();
              for (const std::uint64_t key : *cancel.keys) stop({key, cancel.why});
            },
            [this](const ClusterPacket& packet) { receive(packet); },
            [this](const ShowMembers& show_members) {
              take_over();
              show_members.tell(show());
            },
            [this](const DrainMember& drain_member) {
              take_over();
              drain_member.tell(drain(drain_member.name));
            },
            [this](const AliveQuery& query) {
              take_over();
              query.answer->set_value({router_.usable_nodes()});
            },
            [this](TickAtom) { tick(); }};
  }

 private:
  struct Pending {
    WorkPtr work;
    AttemptId attempt;
    std::shared_ptr<const WireBuffer> body;  // as a node gets it; null: it is on its way there
    AnswerSoFar so_far;
  };
  using PeerPtr = NodePeerPtr;

  // Requests.

  void start(const WorkPtr& work) {
    if (setup_.fault) setup_.fault(work->request());
    const std::uint32_t index = pending_.take();
    pending_[index].work = work;
    by_key_[work->request().key] = index;
    if (is_session_part(work->request().header)) parts_.begin(index);
    const auto info = ask(index);
    if (!info) return end(index, info.error());
    go_on(index, router_.place(index, *info, steady_now()));
  }

  // Nodes count the bytes that they get, so those are what credit must be there for.
  Result<RequestInfo> ask(std::uint32_t index) {
    Pending& pending = pending_[index];
    const RequestPtr& request = pending.work->shared_request();
    if (!pending.body) {
      auto body = request->body.message(request, limits_);
      if (!body) return tl::unexpected(std::move(body).error());
      pending.body = std::move(*body);
    }
    RequestInfo info = request_info(*request, pending.body->bytes().size());
    if (pending.so_far.rows > 0 && info.model_version == 0) info.model_version = pending.so_far.version;
    return info;
  }

  Result<Placement> place_elsewhere(std::uint32_t index, AttemptId last, ErrorCode why) {
    const auto info = ask(index);
    if (!info) {
      router_.end(last);
      return tl::unexpected(info.error());
    }
    const bool full = why == ErrorCode::kOverloaded;
    auto placed = router_.retry(last, *info, steady_now(), full ? Router::Why::kFull : Router::Why::kLost);
    const bool its_own = info->model_version == pending_[index].work->request().header.model_version;
    if (!placed && placed.error().code == ErrorCode::kModelNotFound && !its_own)
      return fail(ErrorCode::kUnavailable,
                  "the version of the model that began the answer is gone; send it again");
    return placed;
  }

  void go_on(std::uint32_t index, Result<Placement> placed) {
    Status sent;
    while (placed) {
      sent = send(index, *placed);
      if (sent) return;
      router_.unsent(placed->attempt);
      // The link to another may have room.
      const IncomingRequest& request = pending_[index].work->request();
      if (!may_run_elsewhere(is_session_part(request.header), sent.error().code)) {
        router_.end(placed->attempt);
        break;
      }
      placed = place_elsewhere(index, placed->attempt, sent.error().code);
    }
    end(index, sent ? placed.error() : sent.error());
  }

  Status send(std::uint32_t index, const Placement& placed) {
    Pending& pending = pending_[index];
    pending.attempt = placed.attempt;
    const auto peer = by_node_.find(placed.node.index);
    if (peer == by_node_.end()) return fail(ErrorCode::kUnavailable, "the node is gone; try again");
    pending.so_far.version = placed.version;
    const auto submit = submit_frames(on_wire(placed.attempt), pending.work->shared_request(), pending.body,
                                      pending.so_far, steady_now(), limits_);
    if (!submit) return tl::unexpected(submit.error());
    if (Status sent = peer->second->link.send(*submit); !sent) return sent;
    pending.body = nullptr;
    trace_placement(pending.work->request(), placed.node);
    return {};
  }

  void trace_placement(const IncomingRequest& request, NodeId node) const {
    if (!request.trace) return;
    const Member* member = router_.members().find(node);
    request.trace->place(member == nullptr ? "" : member->name, steady_now());
  }

  void end(std::uint32_t index, const Error& error) {
    Outcome outcome;
    outcome.error = error;
    if (error.code == ErrorCode::kOverloaded)
      outcome.retry_after_us = std::uint64_t{setup_.config.limits.retry_after_ms} * 1000;
    settle(index, std::move(outcome));
  }

  // Of a part, what can be said for certain.
  void settle(std::uint32_t index, Outcome outcome) {
    if (outcome.error) {
      PartVerdict verdict = parts_.failed(index, std::move(*outcome.error));
      outcome.error = std::move(verdict.error);
      outcome.undecided = outcome.undecided || verdict.undecided;
      if (outcome.undecided) setup_.metrics->undecided();
    } else {
      parts_.end(index);
    }
    const std::uint32_t version =
        outcome.model_version != 0 ? outcome.model_version : pending_[index].so_far.version;
    const WorkPtr work = std::move(pending_[index].work);
    by_key_.erase(work->request().key);
    pending_.give_back(index);
    if (setup_.models) setup_.models->answered(work->request(), version, outcome);
    if (const auto& trace = work->request().trace) trace->reach(SpanStage::kDone, steady_now());
    work->settle(std::move(outcome));
  }

  // A part of a session is decided at its home, whose word is waited for.
  void stop(const CancelWork& cancel) {
    const auto found = by_key_.find(cancel.key);
    if (found == by_key_.end()) return;
    const std::uint32_t index = found->second;
    const AttemptId attempt = pending_[index].attempt;
    if (const auto node = router_.node(attempt)) {
      const auto peer = by_node_.find(node->index);
      if (peer != by_node_.end())
        static_cast<void>(peer->second->link.send(ClusterCancel{on_wire(attempt), cancel.why}));
    }
    if (parts_.stop(index, cancel.why, steady_now())) return;
    router_.end(attempt);
    end(index, {cancel.why, "nobody waits for the request any more"});
  }

  void end_overdue_parts() {
    std::vector<std::uint32_t> overdue;
    parts_.overdue(steady_now(), overdue);
    for (const std::uint32_t index : overdue) {
      router_.end(pending_[index].attempt);
      end(index, nobody_knows());
    }
  }

  // What nodes say.

  void receive(const ClusterPacket& packet) {
    const auto sender = caf::actor_cast<caf::actor>(self_->current_sender());
    if (!sender) return;
    PeerPtr gone;
    const PeerPtr peer = peers_.find_or_add(sender, gone);
    forget(gone);
    const std::uint64_t before = peer->link.link().fragments();
    auto message = peer->link.take(packet);
    if (!message) return drop(peer, message.error());
    // Over a slow link pings wait behind what is under way.
    if (peer->node && peer->link.link().is_in() && peer->link.link().fragments() > before) {
      RouterEvents events;
      router_.heard(*peer->node, steady_now(), events);
      act(events);
    }
    if (*message) std::visit([&](const auto& said) { hear(peer, said); }, **message);
  }

  template <class Other>
  void hear(const PeerPtr&, const Other&) {}  // not for a router, or newer than this one

  void hear(const PeerPtr& peer, const ClusterJoin& join) {
    const LinkGeneration life = peer->link.link().generation();
    const auto reply = [=, this](const Status& certified) {
      if (peers_.has(peer) && peer->link.link().generation() == life) answer(peer, join, certified);
    };
    setup_.transport->check_name(self_, peer->link.handle(), join.name, reply);
  }

  void answer(const PeerPtr& peer, const ClusterJoin& join, const Status& certified) {
    ClusterJoinReply reply;
    reply.name = setup_.config.server.name;
    reply.incarnation = setup_.incarnation;
    const Result<NodeId> joined = certified ? take_in(peer, join) : tl::unexpected(certified.error());
    reply.accepted = joined.has_value();
    if (!joined) {
      reply.error = joined.error();
      setup_.metrics->join_refused();
      spdlog::warn("node '{}' may not join: {}", join.name, to_string(joined.error()));
    }
    static_cast<void>(peer->link.send(reply));
  }

  Result<NodeId> take_in(const PeerPtr& peer, const ClusterJoin& join) {
    if (Status fits = check_join(join, setup_.config.cluster.name); !fits)
      return tl::unexpected(std::move(fits).error());
    RouterEvents events;
    const std::vector<ModelOffer> offers = model_offers(join.offers, costs_);
    auto node = router_.join(join.name, join.incarnation, offers, steady_now(), events);
    if (node) {
      peer->node = *node;
      peer->offers = join.offers;
      peer->list = join.list;
    }
    act(events);  // the end of an earlier membership first
    if (node) {
      router_.grant(*node, {join.request_limit, join.request_window}, {join.byte_limit, join.byte_window});
      peers_.joined(peer);
      by_node_[node->index] = peer;
      if (setup_.models) setup_.models->offered(*node, join.offers);
    }
    return node;
  }

  void hear(const PeerPtr& peer, const ClusterOffers& said) {
    RouterEvents events;
    if (!peer->node || !router_.offer(*peer->node, model_offers(said.offers, costs_), events)) return;
    peer->offers = said.offers;
    peer->list = said.list;
    if (setup_.models) setup_.models->offered(*peer->node, said.offers);
    act(events);
  }

  void hear(const PeerPtr& peer, const ClusterReport& said) {
    const LoadReport report = load_report(said, peer->list, peer->offers, costs_);
    RouterEvents events;
    const bool member = peer->node && router_.report(*peer->node, report, steady_now(), events);
    act(events);
    if (!member) static_cast<void>(peer->link.send(ClusterRejoin{"this router takes the node for dead"}));
  }

  // Attempts have small numbers: that somebody names one says nothing of who he is.
  bool is_asked(const NodePeer& peer, AttemptId attempt) const {
    return peer.link.link().is_in() && peer.node && router_.node(attempt) == peer.node;
  }

  void hear(const PeerPtr& peer, const ClusterResult& result) {
    const AttemptId attempt = from_wire(result.attempt);
    const auto request = router_.request(attempt);
    if (!request || !is_asked(*peer, attempt)) return setup_.metrics->late_answer();
    const auto index = static_cast<std::uint32_t>(*request);
    auto received = read_result(result, limits_);
    if (!received) {
      spdlog::error("a node sent a result that cannot be read: {}", to_string(received.error()));
      received = ReceivedResult{};
      received->outcome.error =
          Error{ErrorCode::kInternal, "the node's result cannot be read; see the router's log"};
      received->outcome.undecided = is_session_part(pending_[index].work->request().header);
    }
    if (!result.final && !received->outcome.error) return forward(index, std::move(*received));
    const auto& refusal = received->outcome.error;
    const bool part = is_session_part(pending_[index].work->request().header);
    if (refusal && may_run_elsewhere(part, refusal->code)) return retry(index, std::move(received->outcome));
    router_.end(attempt);
    settle(index, std::move(received->outcome));
  }

  void forward(std::uint32_t index, ReceivedResult received) {
    Pending& pending = pending_[index];
    if (received.index < pending.so_far.rows) return;
    pending.so_far.rows = received.index + 1;
    // It may have taken a newer one than it was asked for.
    if (received.outcome.model_version != 0) pending.so_far.version = received.outcome.model_version;
    pending.work->send_partial(received.index, std::move(received.outcome));
  }

  void retry(std::uint32_t index, Outcome refusal) {
    auto placed = place_elsewhere(index, pending_[index].attempt, refusal.error->code);
    if (!placed && stands(*refusal.error, placed.error())) {
      if (refusal.retry_after_us == 0) return end(index, *refusal.error);
      return settle(index, std::move(refusal));
    }
    if (!placed) return end(index, placed.error());
    setup_.metrics->retried();
    go_on(index, placed);
  }

  // Its node is gone, with what it may have done.
  void try_elsewhere(std::uint32_t index) {
    parts_.lost(index);
    if (!parts_.stopped(index)) {
      Outcome lost;
      lost.error = Error{ErrorCode::kUnavailable, {}};
      return retry(index, std::move(lost));
    }
    router_.end(pending_[index].attempt);
    end(index, nobody_knows());
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
    // It waits for this, so that its process does not end before its words have arrived.
    static_cast<void>(peer->link.send(ClusterLeave{"goodbye"}));
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
            try_elsewhere(static_cast<std::uint32_t>(*request));
          break;
      }
    }
  }

  void note(const MemberEvent& event) {
    log_member(event, *setup_.metrics);
    if (event.kind != MemberEvent::Kind::kDied && event.kind != MemberEvent::Kind::kLeft) {
      const Member* member = router_.members().find(event.node);
      if (setup_.models) setup_.models->takes_work(event.node, member != nullptr && member->takes_work());
      return;
    }
    if (const auto member = by_node_.extract(event.node.index)) forget(peers_.left(member.mapped()));
    if (setup_.models) setup_.models->left(event.node);
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

  void lose(const caf::actor_addr& address) { forget(peers_.take(address)); }

  // It is gone; null: nobody is.
  void forget(const PeerPtr& peer) {
    if (!peer || !peer->node) return;
    RouterEvents events;
    router_.disconnected(*peer->node, steady_now(), events);
    act(events);
  }

  void tick() {
    self_->delayed_send(self_, kTick, TickAtom::value);
    RouterEvents events;
    router_.advance(steady_now(), events);
    act(events);
    if (setup_.models && router_.settled()) setup_.models->settle();
    for (const PeerPtr& peer : peers_.take_expired()) forget(peer);
    setup_.transport->tend(steady_now());
    end_overdue_parts();
    const Ping ping = router_.ping(steady_now());
    std::size_t queued = 0;
    for (const auto& [index, peer] : by_node_) {
      peer->link.tick();
      queued += peer->link.link().queued_bytes();
      const CreditLine& requests = router_.request_credit(*peer->node);
      const CreditLine& bytes = router_.byte_credit(*peer->node);
      static_cast<void>(peer->link.send(ClusterPing{ping, requests.wanted(), bytes.wanted(),
                                                    requests.given_back(), bytes.given_back(), peer->list}));
    }
    setup_.metrics->set_queued_bytes(queued);
    setup_.metrics->set_members(router_.members().size(), router_.in_flight());
  }

  caf::event_based_actor* self_;
  const ClusterRouterSetup setup_;
  const WireLimits limits_;
  Router router_;
  PartVerdicts parts_;                                       // as pending_
  IndexPool<Pending> pending_;                               // by the request's number at the Router
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;  // → pending_
  NodePeers peers_;
  std::unordered_map<std::uint32_t, PeerPtr> by_node_;  // members, by the index of their id
  TypicalCosts costs_{kMostCosts, kUnmeasured};
};

}  // namespace

caf::actor spawn_cluster_router(caf::actor_system& system, ClusterRouterSetup setup) {
  return spawn_shell<ClusterRouterShell>(system, std::move(setup));
}

}  // namespace volvox
