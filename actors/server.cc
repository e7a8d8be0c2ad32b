#include "actors/server.h"

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/actor_system.h"
#include "actors/admin_commands.h"
#include "actors/admin_door.h"
#include "actors/cluster_node.h"
#include "actors/gateway.h"
#include "actors/handoff.h"
#include "actors/http_front.h"
#include "actors/messages.h"
#include "actors/random_number.h"
#include "actors/supervisor.h"

namespace volvox {
namespace {

// How long /metrics waits for a scheduler, and a stopping server for requests that were told to end.
constexpr Duration kPatience = std::chrono::seconds(1);

// What a node's last words take to leave the process.
constexpr Duration kFarewell = std::chrono::milliseconds(100);

// All at once; those that are not there, or say nothing for a second, are left out.
std::vector<EngineSnapshot> ask_schedulers(const SchedulerSlots& slots) {
  std::vector<std::future<EngineSnapshot>> answers;
  for (const std::shared_ptr<ActorSlot>& slot : slots) {
    const caf::actor scheduler = slot->get();
    if (!scheduler) continue;
    SnapshotQuery query{std::make_shared<std::promise<EngineSnapshot>>()};
    answers.push_back(query.answer->get_future());
    hand_over();
    caf::anon_send(scheduler, std::move(query));
  }
  const TimePoint until = steady_now() + kPatience;
  std::vector<EngineSnapshot> snapshots;
  for (auto& answer : answers) {
    try {
      if (answer.wait_until(until) == std::future_status::ready) snapshots.push_back(answer.get());
    } catch (const std::future_error&) {  // the scheduler failed with the question in its mailbox
    }
  }
  return snapshots;
}

// Holds no device: the monitor lives longer.
DeviceSource device_source(const Node& node) {
  std::vector<std::pair<std::string, std::shared_ptr<const DeviceHealth>>> devices;
  for (const NodeDevicePtr& device : node.devices) devices.emplace_back(device->name, device->health);
  return [devices = std::move(devices)] {
    std::vector<DeviceState> states;
    for (const auto& [name, health] : devices) states.push_back({name, health->trouble()});
    return states;
  };
}

SchedulerSlots make_slots(std::size_t devices) {
  SchedulerSlots slots(devices);
  for (auto& slot : slots) slot = std::make_shared<ActorSlot>();
  return slots;
}

Result<std::vector<OpenQueues>> open_all_queues(const Node& node) {
  std::vector<OpenQueues> all;
  for (const NodeDevicePtr& device : node.devices) {
    auto queues = open_queues(node, *device);
    if (!queues) return tl::unexpected(queues.error());
    all.push_back(std::move(*queues));
  }
  return all;
}

}  // namespace

class Server::Impl {
 public:
  Impl(const ServeConfig& config, const ClusterSection& cluster,
       std::shared_ptr<const ClusterTransport> transport, Monitor& monitor)
      : monitor_(monitor),
        cluster_section_(cluster),
        transport_(std::move(transport)),
        system_config_(config.server.actor_threads, transport_.get()),
        system_(system_config_) {}
  ~Impl() { stop(Duration::zero()); }

  Status start(const NodePtr& node, const ServeConfig& config,
               std::span<const std::shared_ptr<const Model>> models) {
    if (transport_) {
      if (Status secure = transport_->check(system_); !secure) return secure;
    }
    schedulers_ = make_slots(node->devices.size());
    host_ = std::make_unique<ModelHost>(node, schedulers_, repository_source(config), monitor_.models());
    if (Status installed = host_->install(models); !installed) return installed;
    const auto admission = std::make_shared<Admission>(config, node);
    auto gateway = Gateway::open(config, system_, router_, admission, monitor_.requests());
    if (!gateway) return tl::unexpected(gateway.error());
    auto queues = open_all_queues(*node);
    if (!queues) return tl::unexpected(queues.error());
    gateway_ = std::move(*gateway);
    admission_ = admission;
    endpoint_ = gateway_->endpoint();
    auto started = std::make_shared<std::promise<void>>();
    const auto running = started->get_future();
    supervisor_ =
        spawn_supervisor(system_, {node, router_, schedulers_, std::move(*queues), std::move(started)});
    running.wait();  // or until it failed, and broke its promise
    monitor_.watch_devices(device_source(*node));
    monitor_.watch_engines([slots = schedulers_] { return ask_schedulers(slots); }, schedulers_.size());
    const auto metrics = monitor_.listen(config.server.metrics);
    if (!metrics) return tl::unexpected(metrics.error());
    metrics_port_ = *metrics;
    if (Status open = open_front(config, node); !open) return open;
    if (Status open = open_admin(config); !open) return open;
    gateway_->start();
    if (Status joined = join_cluster(node); !joined) return joined;
    monitor_.set_readiness(Readiness::kReady);
    return {};
  }

  bool stop(Duration timeout) {
    const bool all_ended = !gateway_ || close_doors(timeout);
    admin_ = nullptr;
    host_ = nullptr;
    if (supervisor_)
      caf::anon_send_exit(std::exchange(supervisor_, nullptr), caf::exit_reason::user_shutdown);
    monitor_.stop_listening();
    return all_ended;
  }

  const std::string& endpoint() const { return endpoint_; }
  std::uint16_t metrics_port() const { return metrics_port_; }
  std::uint16_t http_port() const { return http_port_; }
  std::string admin_path() const { return admin_ ? admin_->path() : std::string(); }
  ModelHost& models() { return *host_; }

 private:
  Status join_cluster(const NodePtr& node) {
    if (!transport_) return {};
    const auto incarnation = random_identity();
    if (!incarnation) return tl::unexpected(incarnation.error());
    cluster_ = spawn_cluster_node(system_, {node, router_, admission_, cluster_section_, *incarnation,
                                            transport_, &monitor_.cluster()});
    return {};
  }

  // Requests that routers sent are in none of the doors' tables.
  void wait_for_routers(TimePoint until) {
    while (cluster_ && admission_->gauge().requests() > 0 && steady_now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  void leave_cluster() {
    if (!cluster_) return;
    caf::anon_send(std::exchange(cluster_, nullptr), LeaveAtom::value);
    std::this_thread::sleep_for(kFarewell);
  }

  Status open_front(const ServeConfig& config, const NodePtr& node) {
    if (config.http.listen.empty()) return {};
    auto models = std::make_shared<const InstalledHttpModels>(
        node, [slots = schedulers_] { return ask_schedulers(slots); });
    auto front = HttpFront::start(config, {system_, router_, admission_, std::move(models), monitor_});
    if (!front) return tl::unexpected(front.error());
    front_ = std::move(*front);
    http_port_ = front_->port();
    return {};
  }

  Status open_admin(const ServeConfig& config) {
    auto commands = std::make_shared<const AdminCommands>(config.server.name, *host_, monitor_);
    auto socket = open_admin_door(config.admin.socket, endpoint_, std::move(commands));
    if (!socket) return tl::unexpected(socket.error());
    admin_ = std::move(*socket);
    return {};
  }

  // Both doors drain at once, within one time.
  bool wait_until_answered(Duration timeout) {
    const TimePoint until = steady_now() + timeout;
    const bool gateway = gateway_->wait_until_answered(timeout);
    wait_for_routers(until);
    return (!front_ || front_->wait_until_answered(until - steady_now())) && gateway;
  }

  bool close_doors(Duration timeout) {
    admission_->refuse_new_requests();
    monitor_.set_readiness(Readiness::kDraining);
    if (supervisor_) caf::anon_send(supervisor_, DrainAtom::value);
    if (cluster_) caf::anon_send(cluster_, DrainAtom::value);
    const bool all_ended = wait_until_answered(timeout);
    leave_cluster();
    gateway_->abort_requests();
    if (front_) front_->abort_requests();
    wait_until_answered(kPatience);
    if (front_) front_->stop();
    front_ = nullptr;
    gateway_->stop();
    gateway_ = nullptr;
    return all_ended;
  }

  Monitor& monitor_;
  const ClusterSection cluster_section_;
  const std::shared_ptr<const ClusterTransport> transport_;  // null: in no cluster
  SystemConfig system_config_;
  ActorSystem system_;  // its destructor waits until every actor has ended
  std::shared_ptr<ActorSlot> router_ = std::make_shared<ActorSlot>();
  SchedulerSlots schedulers_;  // one for each device
  caf::actor supervisor_, cluster_;
  std::shared_ptr<Admission> admission_;
  std::shared_ptr<Gateway> gateway_;
  std::unique_ptr<HttpFront> front_;
  std::unique_ptr<ModelHost> host_;
  std::unique_ptr<AdminSocket> admin_;  // its thread talks to the host
  std::string endpoint_;
  std::uint16_t metrics_port_ = 0, http_port_ = 0;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const ServeConfig& config,
                                              std::span<const std::shared_ptr<Device>> devices,
                                              std::span<const std::shared_ptr<const Model>> models,
                                              Monitor& monitor, FaultHooks faults,
                                              const ClusterSection& cluster) {
  if (const Status valid = validate(config); !valid) return tl::unexpected(valid.error());
  if (models.empty()) return invalid("there is no model to serve");
  if (devices.empty()) return invalid("there is no device to compute on");
  const NodePtr node = make_node(config, devices, monitor, std::move(faults));
  std::shared_ptr<const ClusterTransport> transport;
  if (!cluster.routers.empty()) {
    auto opened = ClusterTransport::open(cluster, monitor.cluster());
    if (!opened) return tl::unexpected(opened.error());
    transport = std::move(*opened);
  }
  auto impl = std::make_unique<Impl>(config, cluster, std::move(transport), monitor);
  if (const Status started = impl->start(node, config, models); !started)
    return tl::unexpected(started.error());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::endpoint() const {
  return impl_->endpoint();
}
std::uint16_t Server::metrics_port() const {
  return impl_->metrics_port();
}
std::uint16_t Server::http_port() const {
  return impl_->http_port();
}
std::string Server::admin_path() const {
  return impl_->admin_path();
}
ModelHost& Server::models() {
  return impl_->models();
}
bool Server::drain(Duration timeout) {
  return impl_->stop(timeout);
}

}  // namespace volvox
