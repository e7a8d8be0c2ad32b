#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/node/catalog.h"
#include "actors/node/device_health.h"
#include "actors/node/model_statistics.h"
#include "actors/sessions/session_places.h"
#include "actors/work/device_loads.h"
#include "actors/work/work.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "batching/policy/policy.h"
#include "config/schema.h"
#include "device/device.h"
#include "install/installation.h"
#include "monitoring/monitor.h"
#include "tracing/recorder.h"

namespace volvox {

// Where tests make actors fail; empty in production. Called by the actor that it names, which may throw.
struct FaultHooks {
  std::function<void(const IncomingRequest&)> manager, reader, scheduler, link;  // link: to the routers
  std::function<void(const Task&)> worker;
  std::function<void()> supervisor;                      // as it starts
  std::function<void()> engine, new_manager;             // the supervisor, as it starts or replaces one
  std::function<void()> manager_asked, scheduler_asked;  // by monitoring, how it is
};

// One of the devices that a cluster node computes on, with what its scheduler, its workers and those who send
// them requests share. Read-only, apart from what says itself who may call it.
struct NodeDevice {
  std::uint32_t number = 0;
  std::string name;  // in metrics and logs: the device's own, with the number where there are several
  std::shared_ptr<Device> device;
  std::shared_ptr<DeviceHealth> health;
  std::shared_ptr<SessionPlaces> session_places;
  QueueConfig queues;  // how they are opened

  // Opens a queue, for one worker. One call at a time, from any thread.
  Result<std::unique_ptr<Queue>> open_queue() const;

 private:
  mutable std::mutex opening_;
};
using NodeDevicePtr = std::shared_ptr<const NodeDevice>;

// What the actors of one cluster node share: made before them, kept by each of them. Read-only, apart from
// the devices and the catalog, which say themselves who may call them.
struct Node {
  ServeConfig config;
  std::vector<NodeDevicePtr> devices;  // by number; at least one
  std::shared_ptr<DeviceLoads> loads;
  std::shared_ptr<Catalog> catalog;
  std::shared_ptr<ByteBudget> result_bytes;
  std::shared_ptr<Workload> workload;
  ModelStatisticsTable statistics;    // by the model's number
  RequestMetrics* metrics = nullptr;  // outlives the actors, as the next
  SessionMetrics* session_metrics = nullptr;
  std::shared_ptr<TraceRecorder> traces;
  std::optional<HashKey>
      content_key;  // of digests of parts of sessions; nothing: there are no random numbers
  FaultHooks faults;

  // Whether any device takes work.
  bool answers() const;
};
using NodePtr = std::shared_ptr<const Node>;

// A node without models (actors/node/model_host.h brings them). The devices are alike, and at least one.
NodePtr make_node(const ServeConfig& config, std::span<const std::shared_ptr<Device>> devices,
                  Monitor& monitor, FaultHooks faults = {});

// How models are put on the node's devices.
InstallOptions install_options(const Node& node);

// What a client that is refused OVERLOADED is told to wait: until what is accepted has been worked off, by
// estimate, and limits.retry_after_ms at least.
std::uint64_t retry_after_us(const Node& node);

// Threads that compute for one queue.
std::uint32_t compute_threads(const DeviceSection& device);
// A scheduler's, before it knows of any model.
SchedulerConfig scheduler_config(const Node& node);
std::unique_ptr<Policy> make_policy(const Node& node, const SchedulerConfig& config);
}  // namespace volvox
