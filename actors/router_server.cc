#include "actors/router_server.h"

#include <chrono>
#include <utility>

#include "actors/actor_slot.h"
#include "actors/actor_system.h"
#include "actors/admin_door.h"
#include "actors/cluster_router.h"
#include "actors/cluster_transport.h"
#include "actors/gateway.h"
#include "actors/http_front.h"
#include "actors/random_number.h"
#include "actors/routed_models.h"
#include "actors/router_commands.h"
#include "config/validate.h"

namespace volvox {
namespace {

// How long a stopping router waits for requests that were told to end.
constexpr Duration kPatience = std::chrono::seconds(1);

}  // namespace

class RouterServer::Impl {
 public:
  Impl(const ClusterConfig& config, std::shared_ptr<const ClusterTransport> transport, Monitor& monitor)
      : monitor_(monitor),
        transport_(std::move(transport)),
        system_config_(config.server.actor_threads, transport_.get()),
        system_(system_config_) {}
  ~Impl() { stop(Duration::zero()); }

  Status start(const ClusterConfig& config) {
    if (Status secure = transport_->check(system_); !secure) return secure;
    admission_ = std::make_shared<Admission>(config, monitor_.requests());
    auto gateway = Gateway::open(config, system_, slot_, admission_, monitor_.requests());
    if (!gateway) return tl::unexpected(gateway.error());
    const auto incarnation = random_identity(), seed = random_bits();
    if (!incarnation || !seed) return tl::unexpected(incarnation ? seed.error() : incarnation.error());
    const auto models = std::make_shared<RoutedModels>();
    router_ = spawn_cluster_router(system_, {config, *incarnation, *seed, &monitor_.cluster(), models});
    slot_->set(router_);
    if (Status published = publish(config.cluster.listen); !published) return published;
    gateway_ = std::move(*gateway);
    endpoint_ = gateway_->endpoint();
    const auto metrics = monitor_.listen(config.server.metrics);
    if (!metrics) return tl::unexpected(metrics.error());
    metrics_port_ = *metrics;
    if (Status open = open_front(config, models); !open) return open;
    if (Status open = open_admin(config); !open) return open;
    gateway_->start();
    monitor_.set_readiness(Readiness::kReady);
    return {};
  }

  bool stop(Duration timeout) {
    bool all_ended = true;
    if (gateway_) {
      admission_->refuse_new_requests();
      monitor_.set_readiness(Readiness::kDraining);
      all_ended = wait_until_answered(timeout);
      gateway_->abort_requests();
      if (front_) front_->abort_requests();
      wait_until_answered(kPatience);
      if (front_) front_->stop();
      front_ = nullptr;
      gateway_->stop();
      gateway_ = nullptr;
    }
    admin_ = nullptr;
    slot_->set({});
    // The door first: nodes that have lost their link dial again at once.
    if (cluster_port_ != 0) transport_->hide(system_, std::exchange(cluster_port_, 0));
    if (router_) caf::anon_send_exit(std::exchange(router_, nullptr), caf::exit_reason::user_shutdown);
    monitor_.stop_listening();
    return all_ended;
  }

  const std::string& endpoint() const { return endpoint_; }
  std::uint16_t cluster_port() const { return cluster_port_; }
  std::uint16_t metrics_port() const { return metrics_port_; }
  std::uint16_t http_port() const { return http_port_; }
  std::string admin_path() const { return admin_ ? admin_->path() : std::string(); }

 private:
  Status open_front(const ClusterConfig& config, const std::shared_ptr<const RoutedModels>& models) {
    if (config.http.listen.empty()) return {};
    auto front = HttpFront::start(config, {system_, slot_, admission_, models, monitor_});
    if (!front) return tl::unexpected(front.error());
    front_ = std::move(*front);
    http_port_ = front_->port();
    return {};
  }

  // Both doors, within one time.
  bool wait_until_answered(Duration timeout) {
    const TimePoint until = steady_now() + timeout;
    const bool gateway = gateway_->wait_until_answered(timeout);
    return (!front_ || front_->wait_until_answered(until - steady_now())) && gateway;
  }

  Status open_admin(const ServeConfig& config) {
    auto commands = std::make_shared<const RouterCommands>(config.server.name, router_, monitor_);
    auto socket = open_admin_door(config.admin.socket, endpoint_, std::move(commands));
    if (!socket) return tl::unexpected(socket.error());
    admin_ = std::move(*socket);
    return {};
  }

  Status publish(const std::string& address) {
    const auto where = parse_host_port(address);
    if (!where) return tl::unexpected(where.error());
    const auto port = transport_->publish(system_, router_, *where);
    if (!port) return tl::unexpected(port.error());
    cluster_port_ = *port;
    return {};
  }

  Monitor& monitor_;
  const std::shared_ptr<const ClusterTransport> transport_;
  SystemConfig system_config_;
  ActorSystem system_;  // its destructor waits until every actor has ended
  std::shared_ptr<ActorSlot> slot_ = std::make_shared<ActorSlot>();
  caf::actor router_;
  std::shared_ptr<Admission> admission_;
  std::shared_ptr<Gateway> gateway_;
  std::unique_ptr<HttpFront> front_;
  std::unique_ptr<AdminSocket> admin_;  // its thread talks to the router
  std::string endpoint_;
  std::uint16_t cluster_port_ = 0, metrics_port_ = 0, http_port_ = 0;
};

RouterServer::RouterServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RouterServer::~RouterServer() = default;

Result<std::unique_ptr<RouterServer>> RouterServer::start(const ClusterConfig& config, Monitor& monitor) {
  if (const Status valid = validate(config); !valid) return tl::unexpected(valid.error());
  auto transport = ClusterTransport::open(config.cluster, monitor.cluster());
  if (!transport) return tl::unexpected(transport.error());
  auto impl = std::make_unique<Impl>(config, std::move(*transport), monitor);
  if (const Status started = impl->start(config); !started) return tl::unexpected(started.error());
  return std::unique_ptr<RouterServer>(new RouterServer(std::move(impl)));
}

const std::string& RouterServer::endpoint() const {
  return impl_->endpoint();
}
std::uint16_t RouterServer::cluster_port() const {
  return impl_->cluster_port();
}
std::uint16_t RouterServer::metrics_port() const {
  return impl_->metrics_port();
}
std::uint16_t RouterServer::http_port() const {
  return impl_->http_port();
}
std::string RouterServer::admin_path() const {
  return impl_->admin_path();
}
bool RouterServer::drain(Duration timeout) {
  return impl_->stop(timeout);
}

}  // namespace volvox
