#include "actors/node/node.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "actors/work/traces.h"
#include "base/random_number.h"
#include "batching/policy/policies.h"

namespace volvox {
namespace {

// State memory is for requests that run; the others wait without it.
constexpr std::uint32_t kMostLive = 4096;
// Of a cohort: a model that comes later may have larger batches than those that there are.
constexpr std::uint32_t kMostRows = 65'536;

// Cell types of all models that may be loaded; most models have one to three.
std::uint32_t max_types(const ServeConfig& config) {
  return 8 * config.limits.max_models;
}

QueueConfig queue_config(const ServeConfig& config) {
  QueueConfig queue;
  queue.name = config.server.name;
  queue.threads = compute_threads(config.device);
  queue.max_tasks = std::max(queue.max_tasks, config.batching.max_tasks_to_submit);
  queue.max_cohorts = max_types(config);
  queue.max_cohort_rows = kMostRows;
  return queue;
}

// Of each device: what the configuration allows the node is shared among them.
std::uint32_t session_places(const ServeConfig& config, std::size_t devices) {
  const std::size_t all = std::min(config.sessions.max_resident, config.sessions.max_sessions);
  return static_cast<std::uint32_t>((all + devices - 1) / devices);
}

NodeDevicePtr make_device(const ServeConfig& config, std::span<const std::shared_ptr<Device>> devices,
                          std::uint32_t number) {
  auto made = std::make_shared<NodeDevice>();
  made->number = number;
  made->device = devices[number];
  made->name = made->device->name();
  if (devices.size() > 1) made->name.append(":").append(std::to_string(number));
  made->health = std::make_shared<DeviceHealth>(config.device.queues);
  made->session_places = std::make_shared<SessionPlaces>(session_places(config, devices.size()));
  made->queues = queue_config(config);
  return made;
}

}  // namespace

InstallOptions install_options(const Node& node) {
  const ServeConfig& config = node.config;
  InstallOptions options;
  options.pool_bytes = std::uint64_t{config.device.state_mib} << 20;
  options.live_requests = std::min(config.limits.max_requests_in_flight, kMostLive);
  options.max_batch = config.batching.max_batch;
  options.max_models = config.limits.max_models;
  options.max_types = max_types(config);
  options.session_places = session_places(config, node.devices.size());
  return options;
}

NodePtr make_node(const ServeConfig& config, std::span<const std::shared_ptr<Device>> devices,
                  Monitor& monitor, FaultHooks faults) {
  auto node = std::make_shared<Node>();
  node->config = config;
  for (std::uint32_t number = 0; number < devices.size(); ++number) {
    node->devices.push_back(make_device(config, devices, number));
  }
  node->loads = std::make_shared<DeviceLoads>(static_cast<std::uint32_t>(devices.size()));
  node->catalog = std::make_shared<Catalog>();
  node->result_bytes =
      std::make_shared<ByteBudget>(std::uint64_t{config.limits.max_result_mib_in_flight} << 20);
  node->workload = std::make_shared<Workload>();
  node->statistics = std::make_unique<ModelStatistics[]>(config.limits.max_models);
  node->metrics = &monitor.requests();
  node->session_metrics = &monitor.sessions();
  node->traces = make_recorder(config, monitor);
  if (const auto low = random_bits(), high = random_bits(); low && high) {
    node->content_key = HashKey{*low, *high};
  }
  node->faults = std::move(faults);
  return node;
}

std::uint64_t retry_after_us(const Node& node) {
  const std::uint64_t least = std::uint64_t{node.config.limits.retry_after_ms} * 1000;
  return std::max(least, microseconds(node.workload->backlog()));
}

std::uint32_t compute_threads(const DeviceSection& device) {
  if (device.compute_threads != 0) return device.compute_threads;
  return std::max(1U, std::thread::hardware_concurrency() / (device.queues * std::max(1U, device.count)));
}

Result<std::unique_ptr<Queue>> NodeDevice::open_queue() const {
  const std::lock_guard lock(opening_);
  return device->open(queues);
}

bool Node::answers() const {
  return std::any_of(devices.begin(), devices.end(),
                     [](const NodeDevicePtr& device) { return device->health->answers(); });
}

SchedulerConfig scheduler_config(const Node& node) {
  const BatchingSection& batching = node.config.batching;
  SchedulerConfig config;
  config.workers = node.config.device.queues;
  for (const QueueSection& queue : node.config.queue) config.worker_batches.push_back(queue.max_batch);
  config.max_tasks_to_submit = batching.max_tasks_to_submit;
  config.max_ahead = std::chrono::microseconds(batching.max_ahead_us);
  config.max_wait = std::chrono::microseconds(batching.max_wait_us);
  config.max_live = node.config.limits.max_requests_in_flight;
  config.max_overtake = batching.max_overtake;
  config.queued_batches = batching.queued_batches;
  config.age = std::chrono::milliseconds(batching.age_ms);
  return config;
}

std::unique_ptr<Policy> make_policy(const Node& node, const SchedulerConfig& config) {
  const BatchingSection& batching = node.config.batching;
  PaddedOptions padded{.bucket_width = batching.bucket_width};
  if (batching.max_batch != 0) padded.max_batch = batching.max_batch;
  switch (batching.policy) {
    case PolicyKind::kCellular:
      return make_cellular_policy(config);
    case PolicyKind::kPadded:
      return make_padded_policy(config, padded);
    case PolicyKind::kDepth:
      return make_depth_policy(config, batching.window);
    case PolicyKind::kAgenda:
      return make_agenda_policy(config, batching.window);
  }
  return nullptr;  // all kinds are above
}

}  // namespace volvox
