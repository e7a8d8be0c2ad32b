#include "gpu/gpu_device.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "device/slot_copies.h"
#include "gpu/program/fold_rows.h"
#include "gpu/queue/load_probe.h"

namespace volvox::gpu {

Result<std::unique_ptr<Device>> GpuDevice::make(std::shared_ptr<Driver> driver, const GpuOptions& options) {
  const DeviceInfo& info = driver->info();
  if (info.major < 8 && options.cells.precision != Precision::kFloat32) {
    return invalid(info.name + " has compute capability " + std::to_string(info.major) + "." +
                   std::to_string(info.minor) + " and cannot compute in " +
                   std::string(name_of(options.cells.precision)) + "; set device.precision = \"float32\"");
  }
  std::unique_ptr<GpuDevice> made(new GpuDevice(std::move(driver), options));
  if (Status ok = made->allocate(); !ok) return tl::unexpected(ok.error());
  return std::unique_ptr<Device>(std::move(made));
}

GpuDevice::GpuDevice(std::shared_ptr<Driver> driver, const GpuOptions& options)
    : driver_(std::move(driver)), options_(options) {}

GpuDevice::~GpuDevice() {
  if (load_stream_ != 0) driver_->destroy_stream(load_stream_);
}

Status GpuDevice::allocate() {
  auto stream = driver_->make_stream();
  if (!stream) return tl::unexpected(stream.error());
  load_stream_ = *stream;
  auto inputs = InputArena::make(*driver_, options_.input_bytes);
  if (!inputs) return tl::unexpected(inputs.error());
  inputs_ = std::move(*inputs);
  auto results = ResultArena::make(driver_, options_.result_bytes);
  if (!results) return tl::unexpected(results.error());
  results_ = std::move(*results);
  auto mover = SlotMover::make(driver_);
  if (!mover) return tl::unexpected(mover.error());
  mover_ = std::move(*mover);
  return {};
}

std::uint64_t GpuDevice::slot_bytes(std::span<const StateKind> kinds) const {
  return GpuPlanes::slot_bytes(kinds, shadow());
}

// In which type states have a copy, if there may be kernels that read it (gpu/fused/hopper_lstm.cc).
std::optional<ElementType> GpuDevice::shadow() const {
  const ElementType operands = operand_type(options_.cells.precision);
  const bool read = driver_->info().major == 9 && options_.cells.path != KernelPath::kGeneric;
  return read && operands != ElementType::kF32 ? std::optional(operands) : std::nullopt;
}

Status GpuDevice::add_pool(PoolId pool, std::span<const StateKind> kinds, std::uint32_t slots) {
  if (find_pool(pool) != nullptr) return invalid("pool " + std::to_string(pool) + " exists already");
  auto planes = GpuPlanes::make(*driver_, load_stream_, kinds, slots, shadow());
  if (!planes) return tl::unexpected(planes.error());
  if (Status ok = mover_->reserve(planes->staged_bytes()); !ok) return ok;
  const std::unique_lock lock(mutex_);
  pools_.emplace(pool, std::make_unique<GpuPlanes>(std::move(*planes)));
  return {};
}

Result<CompiledCell> GpuDevice::compile(CellTypeId type, const Cell& cell, const Weights& weights,
                                        const CompileOptions& options) {
  if (find_cell(type) != nullptr) return invalid("cell type " + std::to_string(type) + " exists already");
  auto made = GpuCell::make(*driver_, load_stream_, type, cell, weights, options, options_.cells,
                            [this](PoolId pool) { return find_pool(pool); });
  if (!made) return tl::unexpected(made.error());
  auto probe = LoadProbe::make(driver_, *inputs_, cell, weights, **made, options_.measure);
  if (!probe) return tl::unexpected(probe.error());
  auto compiled = probe->run();
  if (!compiled) return compiled;
  const std::unique_lock lock(mutex_);
  for (QueueContext* queue : open_) {
    const Status ok = queue->prepare(**made);
    if (ok) continue;
    for (QueueContext* prepared : open_) prepared->forget(type);  // before the cell goes
    return tl::unexpected(ok.error());
  }
  cells_.emplace(type, std::move(*made));
  return compiled;
}

void GpuDevice::remove_type(CellTypeId type) {
  const std::unique_lock lock(mutex_);
  for (QueueContext* queue : open_) queue->forget(type);
  cells_.erase(type);
}

void GpuDevice::remove_pool(PoolId pool) {
  const std::unique_lock lock(mutex_);
  pools_.erase(pool);
}

FoldRows GpuDevice::folding() const {
  return [driver = driver_, cells = options_.cells](const FoldedTable& table, float* out) {
    return fold_rows(*driver, cells.precision, cells.reproducible, table, out);
  };
}

Result<std::unique_ptr<Queue>> GpuDevice::open(const QueueConfig& config) {
  if (config.max_tasks < 1) return invalid("queue '" + config.name + "': max_tasks must be at least 1");
  auto context = QueueContext::make(driver_, *inputs_, config);
  if (!context) return tl::unexpected(context.error());
  const std::unique_lock lock(mutex_);
  for (const auto& [type, cell] : cells_) {
    if (Status ok = (*context)->prepare(*cell); !ok) return tl::unexpected(ok.error());
  }
  QueueContext* const opened = context->get();
  open_.insert(opened);
  const auto closed = [this](QueueContext* which) {
    const std::unique_lock inner(mutex_);
    open_.erase(which);
  };
  try {
    return std::unique_ptr<Queue>(
        std::make_unique<GpuQueue>(config, std::move(*context), static_cast<CopyChecker&>(*this), closed));
  } catch (const std::exception& e) {
    open_.erase(opened);
    return fail(ErrorCode::kOverloaded, "queue '" + config.name + "' cannot start its thread: " + e.what());
  }
}

Result<std::unique_ptr<InputPages>> GpuDevice::stage(std::span<const InputBlock> blocks) {
  return inputs_->stage(blocks, std::chrono::steady_clock::now());
}

Result<ResultBlock> GpuDevice::results(std::size_t size_bytes) {
  return results_->take(size_bytes);
}

Status GpuDevice::read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) {
  const GpuPlanes* planes = find_pool(pool);
  return planes != nullptr ? mover_->read(*planes, slot, to)
                           : invalid("there is no pool " + std::to_string(pool));
}

Status GpuDevice::write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) {
  const GpuPlanes* planes = find_pool(pool);
  return planes != nullptr ? mover_->write(*planes, slot, from)
                           : invalid("there is no pool " + std::to_string(pool));
}

const GpuPlanes* GpuDevice::find_pool(PoolId pool) const {
  const std::shared_lock lock(mutex_);
  const auto it = pools_.find(pool);
  return it == pools_.end() ? nullptr : it->second.get();
}

const GpuCell* GpuDevice::find_cell(CellTypeId type) const {
  const std::shared_lock lock(mutex_);
  const auto it = cells_.find(type);
  return it == cells_.end() ? nullptr : it->second.get();
}

Status GpuDevice::check_copies(Device& from, std::span<const SlotCopy> copies,
                               std::vector<ReadyCopy>& ready) {
  auto* source = dynamic_cast<GpuDevice*>(&from);
  if (source == nullptr) return invalid("states can only be copied between GPUs");
  for (const SlotCopy& copy : copies) {
    const GpuPlanes *a = source->find_pool(copy.pool), *b = find_pool(copy.pool);
    if (Status ok = check_slot_copy(copy, a, b); !ok) return ok;
    ready.push_back({b, a, copy});
  }
  return {};
}

}  // namespace volvox::gpu
