#include "actors/cluster_node.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "actors/cluster_sink.h"
#include "actors/gateway.h"
#include "actors/messages.h"
#include "actors/offered_models.h"
#include "actors/request_actor.h"
#include "actors/router_finder.h"
#include "actors/router_seats.h"
#include "actors/shell.h"
#include "config/addresses.h"
#include "protocol/codec.h"
#include "routing/credits.h"

namespace volvox {
namespace {

constexpr double kFloor = 0.25;                         // of the credit is split evenly among the routers
constexpr Duration kSilence = std::chrono::seconds(3);  // of a router, until the node dials it again

class ClusterNodeShell {
 public:
  static constexpr const char* kName = "cluster node";

  ClusterNodeShell(caf::event_based_actor* self, ClusterNodeSetup setup)
      : self_(self),
        setup_(std::move(setup)),
        config_(setup_.node->config),
        limits_(wire_limits(config_.wire)),
        requests_(setup_.cluster.max_requests, kFloor),
        bytes_(std::uint64_t{setup_.cluster.max_request_mib} << 20, kFloor),
        offers_(offers_of(*setup_.node->catalog)),
        seats_({self, setup_.transport, setup_.metrics, cluster_flow_limits(config_),
                setup_.cluster.max_routers}) {
    self_->set_down_handler([this](const caf::down_msg& down) { lose(down.source); });
  }

  caf::behavior behavior() {
    finder_ = spawn_router_finder(
        self_->system(), {split_addresses(setup_.cluster.routers), caf::actor_cast<caf::actor>(self_)});
    self_->send(finder_, FindAtom::value);
    tick();
    return {[this](const RoutersFound& found) { seats_.list(found.addresses); },
            [this](const Dialed& dialed) {
              if (seats_.link(dialed)) join(dialed.seat);
            },
            [this](const ClusterPacket& packet) { receive(packet); },
            [this](const ClusterAnswer& answer) {
              take_over();
              send_back(answer);
            },
            [this](TickAtom) { tick(); },
            [this](DrainAtom) { drain(); },
            [this](LeaveAtom) { leave(); }};
  }

 private:
  static RouterSeat::AttemptKey key(const ClusterAttempt& attempt) {
    return {attempt.index, attempt.generation, attempt.number};
  }

  // Links.

  void join(std::uint32_t number) {
    RouterSeat& seat = seats_[number];
    forget_requests(number);
    ClusterJoin join;
    join.cluster = setup_.cluster.name;
    join.name = config_.server.name;
    join.incarnation = setup_.incarnation;
    for (const Offered& offer : offers_) {
      join.offers.push_back(
          {offer.model, offer.version, offer.digest, static_cast<std::uint64_t>(offer.cell_ns),
           static_cast<std::uint32_t>(std::max(1.0, offer.cells)), offer.inputs, offer.outputs});
    }
    seat.heard = steady_now();
    send(number, join);
  }

  // The router tries them elsewhere, or knows nothing of them any more.
  void forget_requests(std::uint32_t number) {
    RouterSeat& seat = seats_[number];
    seat.joined = false;
    ++seat.epoch;
    seat.echo = -1;
    for (const auto& [attempt, running] : seat.running) caf::anon_send(running.request, CancelAtom::value);
    seat.running.clear();
    requests_.remove(number);
    bytes_.remove(number);
  }

  void send(std::uint32_t number, const ClusterMessage& message) {
    RouterSeat& seat = seats_[number];
    if (!seat.link) return;
    if (const Status sent = seat.link->send(message); !sent) disconnect(number, to_string(sent.error()));
  }

  void disconnect(std::uint32_t number, const std::string& why) {
    RouterSeat& seat = seats_[number];
    if (!seat.link) return;
    spdlog::warn("the link to router {} is over: {}", seat.address, why);
    forget_requests(number);
    seats_.unlink(number);
  }

  void lose(const caf::actor_addr& router) {
    if (const auto number = seats_.find(router)) disconnect(*number, "it is gone");
  }

  // What routers say.

  void receive(const ClusterPacket& packet) {
    const auto sender = caf::actor_cast<caf::actor>(self_->current_sender());
    if (!sender) return;
    const auto number = seats_.find(sender.address());
    if (!number) return;
    const auto message = seats_[*number].link->take(packet);
    if (!message) return disconnect(*number, to_string(message.error()));
    seats_[*number].heard = steady_now();
    if (*message) std::visit([&](const auto& said) { hear(*number, said); }, **message);
  }

  template <class Other>
  void hear(std::uint32_t, const Other&) {}  // not for a node, or newer than this one

  void hear(std::uint32_t number, const ClusterJoinReply& reply) {
    RouterSeat& seat = seats_[number];
    Status fits;
    if (!reply.accepted) fits = tl::unexpected(reply.error);
    if (fits) fits = check_versions(reply.name, reply.version, reply.oldest_version);
    if (!fits) {
      spdlog::error("router {} refuses this node: {}", seat.address, to_string(fits.error()));
      refused_until_ = steady_now() + std::chrono::seconds(1);
      return;
    }
    spdlog::info("joined router '{}' at {}", reply.name, seat.address);
    seat.joined = true;
    requests_.add(number);
    bytes_.add(number);
    if (draining_) send(number, ClusterDrain{"the node was told to stop"});
    report();
  }

  void hear(std::uint32_t number, const ClusterPing& ping) {
    seats_[number].echo = std::max(seats_[number].echo, ping.ping);
    requests_.heard(number, ping.wanted_requests, ping.returned_requests);
    bytes_.heard(number, ping.wanted_bytes, ping.returned_bytes);
  }

  // As SIGTERM does: the process ends when it has finished what it has.
  void hear(std::uint32_t number, const ClusterDrain& drain) {
    if (draining_ || !seats_[number].joined) return;
    spdlog::info("router {}: {}; this node drains", seats_[number].address, drain.why);
    ::kill(::getpid(), SIGTERM);
  }

  void hear(std::uint32_t number, const ClusterRejoin& rejoin) {
    if (!seats_[number].joined) return;  // under way already: it answers reports from before
    spdlog::warn("router {}: {}; joining again", seats_[number].address, rejoin.why);
    join(number);
  }

  void hear(std::uint32_t number, const ClusterCancel& cancel) {
    const auto& running = seats_[number].running;
    const auto found = running.find(key(cancel.attempt));
    if (found != running.end()) caf::anon_send(found->second.request, CancelAtom::value);
  }

  void hear(std::uint32_t number, const ClusterSubmit& submit) {
    if (!seats_[number].joined) return;
    if (const auto begun = begin(number, submit); !begun) {
      Outcome refusal;
      refusal.error = begun.error().error;
      refusal.retry_after_us = begun.error().retry_after_us;
      setup_.node->metrics->answered({refusal.error->code});
      send(number, result_frames(submit.attempt, refusal, true, 0, limits_));
    }
  }

  tl::expected<void, Refusal> begin(std::uint32_t number, const ClusterSubmit& submit) {
    RouterSeat& seat = seats_[number];
    if (!submit.header) return refused({ErrorCode::kInvalidArgument, "a request has no header"});
    auto header = decode_request_header(submit.header->bytes(), limits_);
    if (!header) return refused(std::move(header).error());
    header->deadline_us = submit.deadline_us;
    const auto body = submit.body ? submit.body->bytes() : std::span<const std::byte>();
    RouterSeat::Running running{{}, body.size(), model_number(*header), 0};
    running.cells = header->cells_hint != 0          ? header->cells_hint
                    : running.model < offers_.size() ? offers_[running.model].cells
                                                     : 1;
    auto admitted = setup_.admission->admit({{}, submit.account}, std::move(*header), body);
    if (!admitted) return tl::unexpected(std::move(admitted).error());
    if (Status credit = requests_.take(number, 1); !credit) return refused(std::move(credit).error());
    if (Status credit = bytes_.take(number, running.bytes); !credit) {
      requests_.finish(number, 1);
      return refused(std::move(credit).error());
    }
    auto sink = std::make_shared<ClusterSink>(caf::actor_cast<caf::actor>(self_), number, seat.epoch,
                                              submit.attempt, limits_, *setup_.node->metrics);
    running.request = spawn_request_actor(self_->system(), std::move(sink), setup_.router->get());
    hand_over();
    caf::anon_send(running.request, StartRequest{std::move(*admitted)});
    seat.running.insert_or_assign(key(submit.attempt), std::move(running));
    return {};
  }

  std::size_t model_number(const RequestHeader& header) const {
    const auto found = setup_.node->catalog->find(header.model, header.model_version);
    if (!found) return offers_.size();
    const Model& model = *(*found)->model;
    const auto offer = std::find_if(offers_.begin(), offers_.end(), [&](const Offered& one) {
      return one.model == model.name && one.version == model.version;
    });
    return static_cast<std::size_t>(offer - offers_.begin());
  }

  void send_back(const ClusterAnswer& answer) {
    RouterSeat& seat = seats_[answer.seat];
    if (seat.epoch != answer.epoch) return;
    const auto found = seat.running.find(key(answer.result->attempt));
    if (found == seat.running.end()) return;
    if (answer.result->final) {
      if (answer.cells != 0 && found->second.model < offers_.size())
        offers_[found->second.model].measured(answer.cells, answer.compute_us);
      requests_.finish(answer.seat, 1);
      bytes_.finish(answer.seat, found->second.bytes);
      seat.running.erase(found);
    }
    send(answer.seat, *answer.result);
    if (requests_.is_due() || bytes_.is_due()) report();
  }

  // Routers that know of other models are told by joining them anew.
  void look_at_models() {
    std::vector<Offered> present = offers_of(*setup_.node->catalog);
    const auto same = [](const Offered& one, const Offered& other) { return one.same(other); };
    if (std::equal(present.begin(), present.end(), offers_.begin(), offers_.end(), same)) return;
    for (Offered& offer : present) {
      const auto known =
          std::find_if(offers_.begin(), offers_.end(), [&](const Offered& old) { return old.same(offer); });
      if (known != offers_.end()) offer = *known;
    }
    offers_ = std::move(present);
    for (std::uint32_t number = 0; number < seats_.size(); ++number)
      if (seats_[number].joined) join(number);
  }

  void tick() {
    self_->delayed_send(self_, std::chrono::milliseconds(setup_.cluster.report_ms), TickAtom::value);
    look_at_models();
    const TimePoint now = steady_now();
    for (std::uint32_t number = 0; number < seats_.size(); ++number) {
      RouterSeat& seat = seats_[number];
      if (!seat.link) continue;
      if (now - seat.heard > kSilence) {
        disconnect(number, "it is silent");
      } else if (!seat.joined && refused_until_ != TimePoint{} && now >= refused_until_) {
        refused_until_ = {};
        join(number);
      }
    }
    report();
  }

  double work_ns(const RouterSeat& seat) const {
    double ns = 0;
    for (const auto& [attempt, running] : seat.running)
      if (running.model < offers_.size()) ns += running.cells * offers_[running.model].cell_ns;
    return ns;
  }

  void report() {
    requests_.split();
    bytes_.split();
    double all_ns = 0;
    std::size_t all_rows = 0;
    for (const RouterSeat& seat : seats_) {
      all_ns += work_ns(seat);
      all_rows += seat.running.size();
    }
    ClusterReport report;
    for (const Offered& offer : offers_) {
      report.cell_ns.push_back(static_cast<std::uint64_t>(offer.cell_ns));
      report.full_rows = std::max(report.full_rows, offer.max_batch);
    }
    for (std::uint32_t number = 0; number < seats_.size(); ++number) {
      const RouterSeat& seat = seats_[number];
      if (!seat.joined) continue;
      const CreditGrant requests = requests_.grant(number), bytes = bytes_.grant(number);
      report.echo = seat.echo;
      report.work_ns = static_cast<std::uint64_t>(std::max(0.0, all_ns - work_ns(seat)));
      report.rows = static_cast<std::uint32_t>(all_rows - seat.running.size());
      report.request_limit = requests.limit;
      report.request_window = requests.window;
      report.byte_limit = bytes.limit;
      report.byte_window = bytes.window;
      send(number, report);
    }
  }

  void drain() {
    draining_ = true;
    for (std::uint32_t number = 0; number < seats_.size(); ++number)
      if (seats_[number].joined) send(number, ClusterDrain{"the node was told to stop"});
  }

  void leave() {
    for (std::uint32_t number = 0; number < seats_.size(); ++number) {
      if (seats_[number].joined) send(number, ClusterLeave{"the node stops"});
    }
    seats_.close();
    self_->send_exit(finder_, caf::exit_reason::user_shutdown);
    self_->quit();
  }

  caf::event_based_actor* self_;
  const ClusterNodeSetup setup_;
  const ServeConfig& config_;
  const WireLimits limits_;
  CreditSplit requests_, bytes_;
  std::vector<Offered> offers_;
  RouterSeats seats_;
  caf::actor finder_;
  TimePoint refused_until_{};
  bool draining_ = false;
};

}  // namespace

caf::actor spawn_cluster_node(caf::actor_system& system, ClusterNodeSetup setup) {
  return system.spawn(run_shell<ClusterNodeShell, ClusterNodeSetup>, std::move(setup));
}

}  // namespace volvox
