#include "actors/cluster/cluster_node.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/cluster/cluster_sink.h"
#include "actors/cluster/router_finder.h"
#include "actors/cluster/router_seats.h"
#include "actors/edge/edge_settings.h"
#include "actors/edge/request_actor.h"
#include "actors/node/offered_models.h"
#include "actors/process/liveness.h"
#include "actors/system/insist.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"
#include "base/clock.h"
#include "config/addresses.h"
#include "protocol/codec/codec.h"
#include "routing/credits.h"

namespace volvox {
namespace {

constexpr double kFloor = 0.25;                         // of the credit is split evenly among the routers
constexpr Duration kSilence = std::chrono::seconds(3);  // of a router, until the node dials it again
constexpr Duration kRefused = std::chrono::seconds(1);  // by a router, until the node asks it again
// What last words take to leave the process, where nobody answers them; and how often that is looked at.
constexpr Duration kFarewell = std::chrono::milliseconds(100);
constexpr Duration kLook = std::chrono::milliseconds(10);

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
        seats_({self, setup_.transport, setup_.metrics, cluster_flow_limits(config_, setup_.cluster),
                setup_.cluster.max_routers}) {
    draining_ = setup_.admission->draining();
    self_->set_down_handler([this](const caf::down_msg& down) { lose(down.source); });
  }
  // What it began must not outlive it: another one may take its place.
  ~ClusterNodeShell() {
    for (std::uint32_t number = 0; number < seats_.size(); ++number) stop_requests(seats_[number]);
    seats_.close();
    caf::anon_send_exit(finder_, caf::exit_reason::user_shutdown);
  }
  ClusterNodeShell(const ClusterNodeShell&) = delete;
  ClusterNodeShell& operator=(const ClusterNodeShell&) = delete;

  caf::behavior behavior() {
    warn_of_long_silences();
    find_routers();
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
            [](const AliveQuery& query) {
              take_over();
              query.answer->set_value({});
            },
            [this](TickAtom) { tick(); },
            [this](DrainAtom) { drain(); },
            [this](const LeaveCluster& leave_cluster) { leave(leave_cluster); },
            [this](LookAtom) { look_whether_gone(); }};
  }

 private:
  using LookAtom = caf::atom_constant<caf::atom("look")>;

  static RouterSeat::AttemptKey key(const ClusterAttempt& attempt) {
    return {attempt.index, attempt.generation, attempt.number};
  }

  // Links.

  // What routers are told to make of silence stands in their own files; often it is the same file.
  void warn_of_long_silences() const {
    if (2 * setup_.cluster.report_ms + 100 <= setup_.cluster.suspect_ms) return;
    spdlog::warn(
        "cluster.report_ms is {}: routers whose cluster.suspect_ms is {} take this node for silent; "
        "there it must be twice as much and 100",
        setup_.cluster.report_ms, setup_.cluster.suspect_ms);
  }

  void find_routers() {
    finder_ = spawn_router_finder(
        self_->system(), {split_addresses(setup_.cluster.routers), caf::actor_cast<caf::actor>(self_)});
    self_->monitor(finder_);
    self_->send(finder_, FindAtom::value);
  }

  void join(std::uint32_t number) {
    if (farewell_) return;  // who leaves does not come back
    RouterSeat& seat = seats_[number];
    forget_requests(number);
    ClusterJoin join;
    join.cluster = setup_.cluster.name;
    join.name = config_.server.name;
    join.incarnation = setup_.incarnation;
    join.offers = offers_on_wire(offers_);
    join.list = seat.list = list_;
    grant(number, join);
    seat.taken = false;
    seat.heard = seat.told = steady_now();
    seat.join_again = {};
    seats_.renew(number);
    send(number, join);
  }

  // The router may send from the moment at which it takes the node in, not only when it hears the first
  // report.
  void grant(std::uint32_t number, ClusterJoin& join) {
    requests_.add(number);
    bytes_.add(number);
    requests_.split();
    bytes_.split();
    const CreditGrant requests = requests_.grant(number), bytes = bytes_.grant(number);
    join.request_limit = requests.limit;
    join.request_window = requests.window;
    join.byte_limit = bytes.limit;
    join.byte_window = bytes.window;
  }

  // The router tries them elsewhere, or knows nothing of them any more.
  void forget_requests(std::uint32_t number) {
    RouterSeat& seat = seats_[number];
    seat.joined = false;
    ++seat.epoch;
    seat.echo = -1;
    stop_requests(seat);
    requests_.remove(number);
    bytes_.remove(number);
  }

  static void stop_requests(RouterSeat& seat) {
    for (const auto& [attempt, running] : seat.running) caf::anon_send(running.request, CancelAtom::value);
    seat.running.clear();
  }

  void send(std::uint32_t number, const ClusterMessage& message) {
    RouterSeat& seat = seats_[number];
    if (!seat.link) return;
    if (const Status sent = seat.link->send(message); !sent)
      spdlog::error("router {} cannot be told: {}", seat.address, to_string(sent.error()));
  }

  void disconnect(std::uint32_t number, const std::string& why) {
    RouterSeat& seat = seats_[number];
    if (!seat.link) return;
    spdlog::warn("the link to router {} is over: {}", seat.address, why);
    forget_requests(number);
    seats_[number].leaving = false;
    seats_.unlink(number);
  }

  void lose(const caf::actor_addr& ended) {
    if (ended == finder_) return farewell_ ? void() : find_routers();
    if (seats_.replace_dialer(ended)) return;
    if (const auto number = seats_.find(ended)) disconnect(*number, "it is gone");
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
      seat.join_again = steady_now() + kRefused;
      forget_requests(number);
      return;
    }
    spdlog::info("joined router '{}' at {}", reply.name, seat.address);
    seat.joined = true;
    seat.answers_leave = reply.version >= 2;
    seat.speaks = std::min(cluster_versions().best, reply.version);
    if (seat.list != list_) tell_offers(number);
    if (draining_) send(number, ClusterDrain{"the node was told to stop"});
    report();
  }

  void hear(std::uint32_t number, const ClusterPing& ping) {
    seats_[number].echo = std::max(seats_[number].echo, ping.ping);
    seats_[number].taken = seats_[number].taken || ping.list == seats_[number].list;
    requests_.heard(number, ping.wanted_requests, ping.returned_requests);
    bytes_.heard(number, ping.wanted_bytes, ping.returned_bytes);
  }

  // The process decides: it ends when it has finished what it has.
  void hear(std::uint32_t number, const ClusterDrain& drain) {
    if (draining_ || !seats_[number].joined) return;
    spdlog::info("router {}: {}; this node drains", seats_[number].address, drain.why);
    if (setup_.hooks.asks_to_end)
      setup_.hooks.asks_to_end("router " + seats_[number].address + ": " + drain.why);
  }

  void hear(std::uint32_t number, const ClusterRejoin& rejoin) {
    if (!seats_[number].joined) return;  // under way already: it answers reports from before
    if (farewell_) return gone_from(number);
    spdlog::warn("router {}: {}; joining again", seats_[number].address, rejoin.why);
    join(number);
  }

  void hear(std::uint32_t number, const ClusterCancel& cancel) {
    const auto& running = seats_[number].running;
    const auto found = running.find(key(cancel.attempt));
    if (found == running.end()) return;
    if (cancel.why == ErrorCode::kDeadlineExceeded) {
      caf::anon_send(found->second.request, DeadlineAtom::value);
    } else {
      caf::anon_send(found->second.request, CancelAtom::value);
    }
  }

  void hear(std::uint32_t number, const ClusterSubmit& submit) {
    if (!seats_[number].joined) return;
    if (const auto begun = begin(number, submit); !begun) {
      Outcome refusal;
      refusal.error = begun.error().error;
      refusal.retry_after_us = begun.error().retry_after_us;
      setup_.node->metrics->answered({refusal.error->code});
      send(number, insist([&] { return result_frames(submit.attempt, refusal, true, 0, limits_); }));
    }
  }

  // The router has spent its credit, whatever becomes of the request: what is refused gives it back as what
  // has ended does.
  tl::expected<void, Refusal> begin(std::uint32_t number, const ClusterSubmit& submit) {
    const std::size_t bytes = submit.body ? submit.body->bytes().size() : 0;
    if (Status credit = requests_.take(number, 1); !credit) return refused(std::move(credit).error());
    if (Status credit = bytes_.take(number, bytes); !credit) {
      requests_.finish(number, 1);
      return refused(std::move(credit).error());
    }
    auto started = start(number, submit);
    if (!started) {
      requests_.finish(number, 1);
      bytes_.finish(number, bytes);
    }
    return started;
  }

  tl::expected<void, Refusal> start(std::uint32_t number, const ClusterSubmit& submit) {
    RouterSeat& seat = seats_[number];
    // Nothing is computed whose result would only wait: the router tries elsewhere.
    if (seat.link->link().is_full())
      return refused({ErrorCode::kOverloaded, "the link to the router is full; try again later"});
    if (!submit.header) return refused({ErrorCode::kInvalidArgument, "a request has no header"});
    auto header = decode_request_header(submit.header->bytes(), limits_);
    if (!header) return refused(std::move(header).error());
    header->deadline_us = submit.deadline_us;
    choose_version(*header, submit.version);
    OfferedBody body(
        IncomingBody(submit.body ? WireBuffer::part_of(submit.body, submit.body->bytes()) : WireBuffer()));
    const std::size_t bytes = body.size();
    RouterSeat::Running running{{}, bytes, offer_of(*header), 0};
    running.cells = running.model ? running.model->believed(header->cells_hint) : 1;
    if (setup_.node->faults.link) break_for_test(*header);
    auto admitted = setup_.admission->admit({{}, submit.account, true, submit.connection, Door::kCluster},
                                            std::move(*header), std::move(body));
    if (!admitted) return tl::unexpected(std::move(admitted).error());
    auto sink = std::make_shared<ClusterSink>(caf::actor_cast<caf::actor>(self_), number, seat.epoch,
                                              submit.attempt, limits_, *setup_.node->metrics);
    caf::actor runner = setup_.admission->runner_for(**admitted, *setup_.runner);
    running.request = spawn_request_actor(self_->system(), std::move(sink), std::move(runner),
                                          std::move(*admitted), setup_.admission->dispatcher_for(bytes));
    seat.running.insert_or_assign(key(submit.attempt), std::move(running));
    return {};
  }

  // The router counts on the version that it has chosen, but may not have heard yet that it is gone.
  void choose_version(RequestHeader& header, std::uint32_t chosen) const {
    if (header.model_version == 0 && setup_.node->catalog->find(header.model, chosen))
      header.model_version = chosen;
  }

  void break_for_test(const RequestHeader& header) const {
    IncomingRequest request;
    request.header = header;
    setup_.node->faults.link(request);
  }

  OfferedPtr offer_of(const RequestHeader& header) const {
    const auto found = setup_.node->catalog->find(header.model, header.model_version);
    if (!found) return nullptr;
    const Model& model = *(*found)->model;
    const auto offer = std::find_if(offers_.begin(), offers_.end(), [&](const OfferedPtr& one) {
      return one->model == model.name && one->version == model.version;
    });
    return offer == offers_.end() ? nullptr : *offer;
  }

  void send_back(const ClusterAnswer& answer) {
    RouterSeat& seat = seats_[answer.seat];
    if (seat.epoch != answer.epoch) return;
    const auto found = seat.running.find(key(answer.result->attempt));
    if (found == seat.running.end()) return;
    const Status sent = seat.link->send(*answer.result);
    if (!sent) fail_one(answer, found->second, sent.error());
    if (answer.result->final || !sent) {
      if (answer.cells != 0 && found->second.model)
        found->second.model->measured(answer.cells, answer.compute_us);
      requests_.finish(answer.seat, 1);
      bytes_.finish(answer.seat, found->second.bytes);
      seat.running.erase(found);
    }
    if (requests_.is_due() || bytes_.is_due()) report();
  }

  // That one request ends: the link has others.
  void fail_one(const ClusterAnswer& answer, const RouterSeat::Running& running, const Error& why) {
    spdlog::error("an answer cannot be sent to router {}: {}", seats_[answer.seat].address, to_string(why));
    caf::anon_send(running.request, CancelAtom::value);
    Outcome outcome;
    outcome.error = {ErrorCode::kInternal, "the answer cannot travel to the router; see the node's log"};
    // A part of a session is done, though nobody can say with what.
    const auto said = read_result({answer.result->attempt, true, answer.result->header, nullptr}, limits_);
    outcome.undecided = !said || said->outcome.session.has_value() || said->outcome.undecided;
    send(answer.seat,
         insist([&] { return result_frames(answer.result->attempt, outcome, true, 0, limits_); }));
  }

  void look_at_models() {
    std::vector<OfferedPtr> present = offers_of(*setup_.node->catalog);
    for (OfferedPtr& offer : present) {
      const auto known = std::find_if(offers_.begin(), offers_.end(),
                                      [&](const OfferedPtr& old) { return old->same(*offer); });
      if (known == offers_.end()) continue;
      (*known)->id = offer->id;  // it may have been installed anew
      offer = *known;
    }
    if (present == offers_) return;
    offers_ = std::move(present);
    ++list_;
    for (std::uint32_t number = 0; number < seats_.size(); ++number)
      if (seats_[number].joined) tell_offers(number);
  }

  // What runs goes on; but a router of version 1 hears of other models in a join alone, and begins afresh.
  void tell_offers(std::uint32_t number) {
    if (seats_[number].speaks < 2) return join(number);
    RouterSeat& seat = seats_[number];
    seat.list = list_;
    seat.told = steady_now();
    seat.taken = false;
    send(number, ClusterOffers{list_, offers_on_wire(offers_)});
  }

  void tick() {
    self_->delayed_send(self_, std::chrono::milliseconds(setup_.cluster.report_ms), TickAtom::value);
    look_at_models();
    const TimePoint now = steady_now();
    for (std::uint32_t number = 0; number < seats_.size(); ++number) {
      RouterSeat& seat = seats_[number];
      if (!seat.link) continue;
      seat.link->tick();
      if (now - seat.heard > kSilence) {
        disconnect(number, "it is silent");
      } else if (seat.joined && seat.speaks >= 2 && !seat.taken && now - seat.told > kSilence) {
        tell_offers(number);
      } else if (!seat.joined && seat.join_again != TimePoint{} && now >= seat.join_again) {
        join(number);
      }
    }
    report();
  }

  static double work_ns(const RouterSeat& seat) {
    double ns = 0;
    for (const auto& [attempt, running] : seat.running) ns += running.work_ns();
    return ns;
  }

  void report() {
    requests_.split();
    bytes_.split();
    double all_ns = 0;
    std::size_t all_rows = 0, queued = 0;
    for (const RouterSeat& seat : seats_) {
      if (seat.link) queued += seat.link->link().queued_bytes();
      all_ns += work_ns(seat);
      all_rows += seat.running.size();
    }
    setup_.metrics->set_queued_bytes(queued);
    ClusterReport report;
    for (const OfferedPtr& offer : offers_) {
      report.cell_ns.push_back(static_cast<std::uint64_t>(offer->cell_ns));
      report.waits_ns.push_back(static_cast<std::uint64_t>(setup_.node->workload->wait(offer->id).count()));
      report.full_rows = std::max(report.full_rows, offer->max_batch);
    }
    report.list = list_;
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

  // Last words come after the results, so that no router takes them for lost.
  void leave(const LeaveCluster& leave) {
    farewell_ = leave;
    said_ = steady_now();
    seats_.close();
    self_->send_exit(finder_, caf::exit_reason::user_shutdown);
    for (std::uint32_t number = 0; number < seats_.size(); ++number) {
      RouterSeat& seat = seats_[number];
      seat.leaving = seat.joined && seat.link->send_last(ClusterLeave{"the node stops"}).has_value();
    }
    look_whether_gone();
  }

  void hear(std::uint32_t number, const ClusterLeave&) {
    if (farewell_) gone_from(number);
  }

  // That router knows the node no more; others may keep it for a while, but it does not come back.
  void gone_from(std::uint32_t number) {
    seats_[number].leaving = false;
    look_whether_gone();
  }

  void look_whether_gone() {
    if (!farewell_) return;
    const TimePoint now = steady_now();
    bool gone = true;
    for (std::uint32_t number = 0; number < seats_.size(); ++number) {
      RouterSeat& seat = seats_[number];
      if (!seat.leaving) continue;
      if (now >= farewell_->until && !hurried_) send(number, ClusterLeave{"the node stops"});
      const bool waits = seat.answers_leave || !seat.link->link().is_idle();
      if (waits && now < farewell_->until) said_ = now;
      gone = gone && now - said_ >= kFarewell;
    }
    if (now >= farewell_->until) hurried_ = true;
    if (!gone) return self_->delayed_send(self_, kLook, LookAtom::value);
    farewell_ = {};
    self_->quit();
  }

  caf::event_based_actor* self_;
  const ClusterNodeSetup setup_;
  const ServeConfig& config_;
  const WireLimits limits_;
  CreditSplit requests_, bytes_;
  std::vector<OfferedPtr> offers_;
  std::uint32_t list_ = 1;  // their number
  RouterSeats seats_;
  caf::actor finder_;
  std::optional<LeaveCluster> farewell_;
  TimePoint said_{};      // when there was still something to wait for
  bool hurried_ = false;  // the last words were sent before what they were to follow
  bool draining_ = false;
};

}  // namespace

caf::actor spawn_cluster_node(caf::actor_system& system, ClusterNodeSetup setup) {
  return spawn_shell<ClusterNodeShell>(system, std::move(setup));
}

}  // namespace volvox
