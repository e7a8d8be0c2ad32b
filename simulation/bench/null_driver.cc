#include "simulation/bench/null_driver.h"

#include <cstdlib>
#include <cstring>
#include <optional>

#include "device/host_memory.h"

namespace volvox::bench {
namespace {

// The queue of a call that ends a task of its ring.
std::optional<gpu::QueueView> ends_task(const gpu::KernelCall& call) {
  if (const auto* finish = std::get_if<gpu::FinishCall>(&call)) return finish->queue;
  const auto* stage = std::get_if<gpu::PointwiseCall>(&call);
  if (stage != nullptr && stage->last != 0) return stage->queue;
  const auto* fused = std::get_if<gpu::FusedCall>(&call);
  if (fused != nullptr && fused->task.seq == 0) return fused->task.queue;
  return std::nullopt;
}

void finish(const gpu::QueueView& queue) {
  gpu::finish_task(queue, gpu::ending_of(queue));
}

}  // namespace

NullDriver::NullDriver() {
  info_ = {0, "none", 9, 0, std::uint64_t{1} << 37, 132, "none"};
}

NullDriver::~NullDriver() = default;

Result<DeviceAddress> NullDriver::allocate(std::size_t size_bytes) {
  auto memory = allocate_host(size_bytes);
  if (!memory) return tl::unexpected(memory.error());
  return memory->device;
}

void NullDriver::release(DeviceAddress address) {
  std::free(at_address(address));
}

Result<gpu::HostMemory> NullDriver::allocate_host(std::size_t size_bytes) {
  // Untouched pages cost nothing.
  auto* memory = static_cast<std::byte*>(std::calloc(1, size_bytes));
  if (memory == nullptr) return fail(ErrorCode::kOverloaded, "there is no memory for a GPU's");
  return gpu::HostMemory{memory, address_of(memory), size_bytes};
}

void NullDriver::release_host(const gpu::HostMemory& memory) {
  std::free(memory.host);
}

Status NullDriver::copy(gpu::StreamId, DeviceAddress to, DeviceAddress from, std::size_t size_bytes) {
  std::memcpy(at_address(to), at_address(from), size_bytes);
  return {};
}

Status NullDriver::launch(gpu::StreamId stream, const gpu::KernelCall& call) {
  if (const auto* fused = std::get_if<gpu::FusedCall>(&call); fused != nullptr && fused->task.seq != 0) {
    const gpu::FusedTask& task = fused->task;
    gpu::begin_task(task.queue, task.turn);
    gpu::finish_direct(task.queue, gpu::ending_of(task.queue, task.seq), task.turn, false);
    return {};
  }
  const auto queue = ends_task(call);
  if (!queue) return {};
  const std::lock_guard lock(mutex_);
  const auto capturing = capturing_.find(stream);
  if (capturing == capturing_.end()) {
    finish(*queue);
  } else {
    capturing->second = *queue;
  }
  return {};
}

Status NullDriver::begin_capture(gpu::StreamId stream) {
  const std::lock_guard lock(mutex_);
  capturing_[stream] = {};
  return {};
}

Result<gpu::GraphId> NullDriver::end_capture(gpu::StreamId stream) {
  const std::lock_guard lock(mutex_);
  graphs_[++last_] = capturing_.at(stream);
  capturing_.erase(stream);
  return last_;
}

Status NullDriver::launch_graph(gpu::StreamId, gpu::GraphId graph) {
  gpu::QueueView queue;
  {
    const std::lock_guard lock(mutex_);
    queue = graphs_.at(graph);
  }
  gpu::begin_task(queue);
  finish(queue);
  return {};
}

void NullDriver::destroy_graph(gpu::GraphId graph) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(graph);
}

}  // namespace volvox::bench
