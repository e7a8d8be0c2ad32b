#include "actors/process/router_server.h"

#include <utility>

#include "actors/admin/router_commands.h"
#include "actors/cluster/cluster_router.h"
#include "actors/cluster/cluster_transport.h"
#include "actors/cluster/routed_models.h"
#include "actors/edge/accept_guard.h"
#include "actors/edge/listening_port.h"
#include "actors/process/keeper.h"
#include "actors/process/liveness.h"
#include "actors/process/process_front.h"
#include "actors/system/actor_slot.h"
#include "actors/system/actor_system.h"
#include "actors/work/traces.h"
#include "base/random_number.h"
#include "config/validate.h"

namespace volvox {

class RouterServer::Impl {
 public:
  Impl(const ClusterConfig& config, std::shared_ptr<const ClusterTransport> transport, Monitor& monitor,
       ProcessHooks hooks)
      : monitor_(monitor),
        transport_(std::move(transport)),
        system_config_(config.server.actor_threads, transport_.get()),
        system_(system_config_),
        traces_(make_recorder(config, monitor)),
        front_(config, system_, monitor, std::move(hooks)) {}
  ~Impl() { stop(Duration::zero()); }

  Status start(const ClusterConfig& config, RouterFault fault) {
    if (Status secure = transport_->check(system_); !secure) return secure;
    const auto admission = std::make_shared<Admission>(config, monitor_.requests(), traces_);
    if (Status bound = front_.bind(slot_, admission); !bound) return bound;
    const auto incarnation = random_identity(), seed = random_bits();
    if (!incarnation || !seed) return tl::unexpected(incarnation ? seed.error() : incarnation.error());
    const auto models = std::make_shared<RoutedModels>();
    monitor_.watch_models(model_requests_source(models), front_.client_doors());
    ClusterRouterSetup setup{config, *incarnation, *seed,           &monitor_.cluster(),
                             models, transport_,   std::move(fault)};
    if (Status serving = start_router(std::move(setup)); !serving) return serving;
    watch(config.cluster.ready_needs_node);
    AcceptGuard::of_process().bound(cluster_port_, config.cluster.max_connections,
                                    [&metrics = monitor_.cluster()] { metrics.connection_refused(); });
    const auto commands = std::make_shared<const RouterCommands>(
        config.server.name, slot_, monitor_,
        TraceCommands(config.server.name, traces_, std::chrono::seconds(config.tracing.capture_seconds)));
    if (Status open = front_.open(models, handler_of(commands)); !open) return open;
    monitor_.set_readiness(Readiness::kReady);
    return {};
  }

  bool stop(Duration timeout) {
    const bool all_ended = front_.close(timeout, {});
    slot_->set({});
    // The door first: nodes that have lost their link dial again at once.
    if (cluster_port_ != 0) {
      AcceptGuard::of_process().forget(cluster_port_);
      transport_->hide(system_, std::exchange(cluster_port_, 0));
    }
    if (keeper_) caf::anon_send_exit(std::exchange(keeper_, nullptr), caf::exit_reason::user_shutdown);
    monitor_.stop_listening();
    return all_ended;
  }

  const ProcessFront& front() const { return front_; }
  std::uint16_t cluster_port() const { return cluster_port_; }

 private:
  // Nodes that lose the router's actor dial again, and join the next one: all that it knew comes with them.
  Status start_router(ClusterRouterSetup setup) {
    const auto where = parse_host_port(setup.config.cluster.listen);
    if (!where) return tl::unexpected(where.error());
    const caf::actor first = spawn_cluster_router(system_, setup);
    const auto port = transport_->publish(system_, first, *where);
    if (!port) return tl::unexpected(port.error());
    cluster_port_ = *port;
    auto restart = [system = &system_, transport = transport_, setup = std::move(setup),
                    at = HostPort{where->host, *port}]() -> Result<caf::actor> {
      transport->hide(*system, at.port);
      caf::actor next = spawn_cluster_router(*system, setup);
      const auto published = transport->publish(*system, next, at);
      if (published) return next;
      caf::anon_send_exit(next, caf::exit_reason::user_shutdown);
      return tl::unexpected(published.error());
    };
    keeper_ = spawn_keeper(system_, {"cluster router", first, std::move(restart), slot_,
                                     [monitor = &monitor_] { monitor->requests().restarted(); }});
    slot_->set(first);
    return {};
  }

  void watch(bool needs_node) {
    const auto alive = shared_alive(slot_);
    monitor_.watch_health(watch_alive("cluster router", alive));
    monitor_.watch_health(watch_connections(system_));
    monitor_.watch_health([port = std::make_shared<ListeningPort>(cluster_port_)]() -> std::string {
      return port->is_open() ? "" : "nothing listens at cluster.listen any more; start this process again";
    });
    if (!needs_node) return;
    monitor_.watch_readiness([alive]() -> std::string {
      const auto said = alive();
      if (!said) return "the cluster router does not answer";
      return said->nodes == 0 ? "no node that takes requests has joined" : "";
    });
  }

  Monitor& monitor_;
  const std::shared_ptr<const ClusterTransport> transport_;
  SystemConfig system_config_;
  ActorSystem system_;  // its destructor waits until every actor has ended
  const std::shared_ptr<TraceRecorder> traces_;
  std::shared_ptr<ActorSlot> slot_ = std::make_shared<ActorSlot>();
  caf::actor keeper_;   // of the actor in slot_
  ProcessFront front_;  // its threads talk to the router
  std::uint16_t cluster_port_ = 0;
};

RouterServer::RouterServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RouterServer::~RouterServer() = default;

Result<std::unique_ptr<RouterServer>> RouterServer::start(const ClusterConfig& config, Monitor& monitor,
                                                          ProcessHooks hooks, RouterFault fault) {
  if (const Status valid = validate(config); !valid) return tl::unexpected(valid.error());
  auto transport = ClusterTransport::open(config.cluster, monitor.cluster());
  if (!transport) return tl::unexpected(transport.error());
  auto impl = std::make_unique<Impl>(config, std::move(*transport), monitor, std::move(hooks));
  if (const Status started = impl->start(config, std::move(fault)); !started)
    return tl::unexpected(started.error());
  return std::unique_ptr<RouterServer>(new RouterServer(std::move(impl)));
}

const std::string& RouterServer::endpoint() const {
  return impl_->front().endpoint();
}
std::uint16_t RouterServer::cluster_port() const {
  return impl_->cluster_port();
}
std::uint16_t RouterServer::metrics_port() const {
  return impl_->front().metrics_port();
}
std::uint16_t RouterServer::http_port() const {
  return impl_->front().http_port();
}
std::string RouterServer::admin_path() const {
  return impl_->front().admin_path();
}
bool RouterServer::drain(Duration timeout) {
  return impl_->stop(timeout);
}
std::size_t RouterServer::unanswered() const {
  return impl_->front().unanswered();
}

}  // namespace volvox
