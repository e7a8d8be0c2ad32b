#include "actors/node.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "batching/policies.h"

namespace volvox {
namespace {

// State memory is for requests that run; the others wait without it.
constexpr std::uint32_t kMostLive = 4096;

InstallOptions install_options(const ServeConfig& config) {
  InstallOptions options;
  options.pool_bytes = std::uint64_t{config.device.state_mib} << 20;
  options.live_requests = std::min(config.limits.max_requests_in_flight, kMostLive);
  options.max_batch = config.batching.max_batch;
  return options;
}

void set_shares(const ServeConfig& config, Installation& installation) {
  for (ModelConfig& model : installation.model_configs) {
    const ModelSection& section = model_section(config, installation.models[model.id]->model->name);
    model.weight = section.weight;
    model.max_waiting = section.max_waiting;
  }
}

QueueConfig queue_config(const Node& node) {
  const auto& types = node.installation.types;
  QueueConfig queue;
  queue.name = node.config.server.name;
  queue.threads = compute_threads(node.config.device);
  queue.max_tasks = std::max(queue.max_tasks, node.config.batching.max_tasks_to_submit);
  queue.max_cohorts = std::max(queue.max_cohorts, static_cast<std::uint32_t>(types.size()));
  for (const TypeConfig& type : types)
    queue.max_cohort_rows = std::max(queue.max_cohort_rows, type.max_batch);
  return queue;
}

}  // namespace

Result<NodePtr> make_node(const ServeConfig& config, std::shared_ptr<Device> device,
                          std::span<const std::shared_ptr<const Model>> models, RequestMetrics& metrics,
                          FaultHooks faults) {
  auto installation = install(*device, models, install_options(config));
  if (!installation) return tl::unexpected(installation.error());
  auto node = std::make_shared<Node>();
  node->config = config;
  node->device = std::move(device);
  node->installation = std::move(*installation);
  set_shares(config, node->installation);
  node->catalog = std::make_shared<Catalog>(node->installation);
  node->result_bytes =
      std::make_shared<ByteBudget>(std::uint64_t{config.limits.max_result_mib_in_flight} << 20);
  node->statistics = std::make_unique<ModelStatistics[]>(node->installation.models.size());
  node->metrics = &metrics;
  node->faults = std::move(faults);
  return node;
}

std::uint32_t compute_threads(const DeviceSection& device) {
  if (device.compute_threads != 0) return device.compute_threads;
  return std::max(1U, std::thread::hardware_concurrency() / device.queues);
}

Result<std::unique_ptr<Queue>> Node::open_queue() const {
  const std::lock_guard lock(opening_);
  return device->open(queue_config(*this));
}

SchedulerConfig scheduler_config(const Node& node) {
  const BatchingSection& batching = node.config.batching;
  SchedulerConfig config = scheduler_config(node.installation, node.config.device.queues);
  config.max_tasks_to_submit = batching.max_tasks_to_submit;
  config.max_ahead = std::chrono::microseconds(batching.max_ahead_us);
  config.max_wait = std::chrono::microseconds(batching.max_wait_us);
  config.max_live = node.config.limits.max_requests_in_flight;
  config.max_overtake = batching.max_overtake;
  return config;
}

std::unique_ptr<Policy> make_policy(const Node& node, const SchedulerConfig& config) {
  const BatchingSection& batching = node.config.batching;
  if (batching.policy == PolicyKind::kCellular) return make_cellular_policy(config);
  PaddedOptions options;
  options.bucket_width = batching.bucket_width;
  if (batching.max_batch != 0) options.max_batch = batching.max_batch;
  return make_padded_policy(config, options);
}

}  // namespace volvox
