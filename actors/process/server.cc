#include "actors/process/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/admin/admin_commands.h"
#include "actors/cluster/cluster_node.h"
#include "actors/node/body_reader.h"
#include "actors/node/supervisor.h"
#include "actors/process/keeper.h"
#include "actors/process/liveness.h"
#include "actors/process/process_front.h"
#include "actors/system/actor_system.h"
#include "actors/system/handoff.h"
#include "actors/system/shared_answer.h"
#include "actors/work/messages.h"
#include "base/clock.h"
#include "base/random_number.h"

namespace volvox {
namespace {

// How long /metrics waits for a scheduler, and a node at least for routers to hear its last words.
constexpr Duration kLeavePatience = std::chrono::seconds(1);

// How much longer than it was given a node may take to leave its cluster.
constexpr Duration kFarewell = std::chrono::milliseconds(500);

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
  const TimePoint until = steady_now() + kLeavePatience;
  std::vector<EngineSnapshot> snapshots;
  for (auto& answer : answers) {
    try {
      if (answer.wait_until(until) == std::future_status::ready) snapshots.push_back(answer.get());
    } catch (const std::future_error&) {  // the scheduler failed with the question in its mailbox
    }
  }
  return snapshots;
}

// However many ask: each question waits in the schedulers' mailboxes.
EngineSource shared_snapshots(const SchedulerSlots& slots) {
  auto shared = std::make_shared<SharedAnswer<std::vector<EngineSnapshot>>>(
      [slots] { return ask_schedulers(slots); }, kAnswerIsFresh, steady_now);
  return [shared = std::move(shared)] { return shared->get(); };
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

// All devices are of one kind, and compute the same bits.
FoldRows folding_of(const Node& node) {
  return node.devices.empty() ? FoldRows{} : node.devices.front()->device->folding();
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
       std::shared_ptr<const ClusterTransport> transport, Monitor& monitor, ProcessHooks hooks)
      : monitor_(monitor),
        cluster_section_(cluster),
        hooks_(std::move(hooks)),
        transport_(std::move(transport)),
        system_config_(config.server.actor_threads, transport_.get()),
        system_(system_config_),
        front_(config, system_, monitor, hooks_) {}
  ~Impl() { stop(Duration::zero()); }

  Status start(const NodePtr& node, const ServeConfig& config,
               std::span<const std::shared_ptr<const Model>> models) {
    if (transport_) {
      if (Status secure = transport_->check(system_); !secure) return secure;
    }
    schedulers_ = actor_slots(node->devices.size());
    host_ = std::make_unique<ModelHost>(node, schedulers_, repository_source(config, folding_of(*node)),
                                        monitor_.models());
    if (Status installed = host_->install(models); !installed) return installed;
    if (Status bound = front_.bind(manager_, admission_to(node)); !bound) return bound;
    auto queues = open_all_queues(*node);
    if (!queues) return tl::unexpected(queues.error());
    if (Status begun = start_supervisor(node, std::move(*queues)); !begun) return begun;
    start_reader(node);
    monitor_.watch_devices(device_source(*node));
    snapshots_ = shared_snapshots(schedulers_);
    monitor_.watch_engines(snapshots_, schedulers_.size());
    models_ = std::make_shared<const InstalledHttpModels>(node, snapshots_);
    std::vector<Door> doors = front_.client_doors();
    if (transport_) doors.push_back(Door::kCluster);
    monitor_.watch_models(model_requests_source(models_), std::move(doors));
    monitor_.watch_health(watch_alive("manager", shared_alive(manager_)));
    if (transport_) {
      monitor_.watch_health(watch_alive("link to the routers", shared_alive(link_)));
      monitor_.watch_health(watch_connections(system_));
    }
    const auto commands = std::make_shared<const AdminCommands>(
        config.server.name, *host_, monitor_,
        TraceCommands(config.server.name, node->traces,
                      std::chrono::seconds(config.tracing.capture_seconds)));
    if (Status open = front_.open(models_, handler_of(commands)); !open) return open;
    if (Status joined = join_cluster(node); !joined) return joined;
    monitor_.set_readiness(Readiness::kReady);
    return {};
  }

  bool stop(Duration timeout) {
    const bool all_ended = front_.close(timeout, leaving());
    host_ = nullptr;
    if (supervisor_)
      caf::anon_send_exit(std::exchange(supervisor_, nullptr), caf::exit_reason::user_shutdown);
    if (readers_) caf::anon_send_exit(std::exchange(readers_, nullptr), caf::exit_reason::user_shutdown);
    dispatcher_ = nullptr;
    monitor_.stop_listening();
    return all_ended;
  }

  const ProcessFront& front() const { return front_; }
  ModelHost& models() { return *host_; }

  // Requests that routers sent are in none of the doors' tables.
  std::size_t unanswered() const {
    const std::size_t clients = front_.unanswered();
    return linked_ ? std::max(clients, front_.admission()->gauge().requests()) : clients;
  }

 private:
  // Where a test wants to see what the manager is sent, all goes by the manager.
  std::shared_ptr<Admission> admission_to(const NodePtr& node) {
    if (node->faults.manager) return std::make_shared<Admission>(node->config, node);
    dispatcher_ = std::make_shared<const Dispatcher>(node, schedulers_);
    return std::make_shared<Admission>(node->config, node, dispatcher_, reader_);
  }

  void start_reader(const NodePtr& node) {
    if (!dispatcher_) return;
    const BodyReaderSetup setup{node, dispatcher_, manager_};
    const caf::actor first = spawn_body_reader(system_, setup);
    reader_->set(first);
    readers_ = spawn_keeper(system_, {"reader of large bodies", first,
                                      [system = &system_, setup]() -> Result<caf::actor> {
                                        return spawn_body_reader(*system, setup);
                                      },
                                      reader_, [monitor = &monitor_] { monitor->requests().restarted(); }});
  }

  Status start_supervisor(const NodePtr& node, std::vector<OpenQueues> queues) {
    auto started = std::make_shared<std::promise<void>>();
    auto running = started->get_future();
    supervisor_ =
        spawn_supervisor(system_, {node, manager_, schedulers_, std::move(queues), std::move(started)});
    try {
      running.get();
    } catch (const std::future_error&) {  // it failed, and broke its promise
      return fail(ErrorCode::kInternal, "the server's supervisor could not start; the log says why");
    }
    return {};
  }

  Status join_cluster(const NodePtr& node) {
    if (!transport_) return {};
    const auto incarnation = random_identity();
    if (!incarnation) return tl::unexpected(incarnation.error());
    const ClusterNodeSetup setup{node,         manager_,   front_.admission(),  cluster_section_,
                                 *incarnation, transport_, &monitor_.cluster(), hooks_};
    // Its requests are the routers' again, which hear that it is gone; the next one joins afresh.
    const caf::actor first = spawn_cluster_node(system_, setup);
    link_->set(first);
    cluster_ = spawn_keeper(system_, {"link to the routers", first,
                                      [system = &system_, setup]() -> Result<caf::actor> {
                                        return spawn_cluster_node(*system, setup);
                                      },
                                      link_, [monitor = &monitor_] { monitor->requests().restarted(); }});
    linked_ = true;
    return {};
  }

  void wait_for_routers(TimePoint until) {
    while (cluster_ && front_.admission()->gauge().requests() > 0 && steady_now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  // Until the routers have the answers that are on their way.
  void leave_cluster(TimePoint until) {
    if (!cluster_) return;
    if (const caf::actor link = link_->get()) {
      auto left = std::make_shared<std::promise<void>>();
      const auto gone = left->get_future();
      caf::anon_send(link, LeaveCluster{until, std::move(left)});
      gone.wait_until(later(until, kFarewell));
    }
    linked_ = false;
    caf::anon_send_exit(std::exchange(cluster_, nullptr), caf::exit_reason::user_shutdown);
  }

  ProcessFront::Leaving leaving() {
    ProcessFront::Leaving leaving;
    leaving.begin = [this] {
      if (supervisor_) caf::anon_send(supervisor_, DrainAtom::value);
      if (const caf::actor link = link_->get()) caf::anon_send(link, DrainAtom::value);
    };
    leaving.rest = [this](TimePoint until) {
      wait_for_routers(until);
      leave_cluster(std::max(until, steady_now() + kLeavePatience));
    };
    return leaving;
  }

  Monitor& monitor_;
  const ClusterSection cluster_section_;
  const ProcessHooks hooks_;
  const std::shared_ptr<const ClusterTransport> transport_;  // null: in no cluster
  SystemConfig system_config_;
  ActorSystem system_;  // its destructor waits until every actor has ended
  std::shared_ptr<ActorSlot> manager_ = std::make_shared<ActorSlot>();
  std::shared_ptr<ActorSlot> reader_ = std::make_shared<ActorSlot>();
  SchedulerSlots schedulers_;                     // one for each device
  std::shared_ptr<const Dispatcher> dispatcher_;  // null: the doors have none
  EngineSource snapshots_;                        // of them
  std::shared_ptr<const HttpModels> models_;
  std::shared_ptr<ActorSlot> link_ = std::make_shared<ActorSlot>();
  caf::actor supervisor_, readers_, cluster_;  // the two last: keepers of the actors in reader_ and link_
  std::atomic<bool> linked_{false};            // there may be requests of routers
  std::unique_ptr<ModelHost> host_;
  ProcessFront front_;  // its threads talk to the host
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const ServeConfig& config,
                                              std::span<const std::shared_ptr<Device>> devices,
                                              std::span<const std::shared_ptr<const Model>> models,
                                              Monitor& monitor, FaultHooks faults,
                                              const ClusterSection& cluster, ProcessHooks hooks) {
  // A node has no keys of its own for the tables of its routers' clients.
  const Status valid = cluster.routers.empty() ? validate(config) : validate(ClusterConfig{config, cluster});
  if (!valid) return tl::unexpected(valid.error());
  if (models.empty()) return invalid("there is no model to serve");
  if (devices.empty()) return invalid("there is no device to compute on");
  const NodePtr node = make_node(config, devices, monitor, std::move(faults));
  std::shared_ptr<const ClusterTransport> transport;
  if (!cluster.routers.empty()) {
    auto opened = ClusterTransport::open(cluster, monitor.cluster(), config.server.name);
    if (!opened) return tl::unexpected(opened.error());
    transport = std::move(*opened);
  }
  auto impl = std::make_unique<Impl>(config, cluster, std::move(transport), monitor, std::move(hooks));
  if (const Status started = impl->start(node, config, models); !started)
    return tl::unexpected(started.error());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::endpoint() const {
  return impl_->front().endpoint();
}
std::uint16_t Server::metrics_port() const {
  return impl_->front().metrics_port();
}
std::uint16_t Server::http_port() const {
  return impl_->front().http_port();
}
std::string Server::admin_path() const {
  return impl_->front().admin_path();
}
ModelHost& Server::models() {
  return impl_->models();
}
bool Server::drain(Duration timeout) {
  return impl_->stop(timeout);
}
std::size_t Server::unanswered() const {
  return impl_->unanswered();
}

}  // namespace volvox
