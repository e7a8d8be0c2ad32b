#include "device/interpreted_device.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "device/host_memory.h"
#include "device/slot_copies.h"

namespace volvox {

Status InterpretedDevice::add_pool(PoolId pool, std::span<const StateKind> kinds, std::uint32_t slots) {
  if (this->pool(pool) != nullptr) return invalid("pool " + std::to_string(pool) + " exists already");
  auto planes = Planes::make(kinds, slots);
  if (!planes) return tl::unexpected(planes.error());
  for (std::uint32_t slot = kReservedSlots; config_.poison && slot < slots; ++slot) planes->poison(slot);
  const std::unique_lock lock(mutex_);
  pools_.emplace(pool, std::move(*planes));
  return {};
}

Result<CompiledCell> InterpretedDevice::compile(CellTypeId type, const Cell& cell, const Weights& weights,
                                                const CompileOptions& options) {
  auto made = InterpretedCell::make(cell, weights, options, [this](PoolId id) { return pool(id); });
  if (!made) return tl::unexpected(made.error());
  CompiledCell compiled;
  compiled.sizes = config_.sizes;
  compiled.costs = config_.costs;
  compiled.flops_per_row = (*made)->flops_per_row();
  compiled.kernel = "interpreted";
  const std::unique_lock lock(mutex_);
  cells_[type] = std::move(*made);
  return compiled;
}

void InterpretedDevice::remove_type(CellTypeId type) {
  const std::unique_lock lock(mutex_);
  cells_.erase(type);
}

void InterpretedDevice::remove_pool(PoolId pool) {
  const std::unique_lock lock(mutex_);
  pools_.erase(pool);
}

Result<std::unique_ptr<InputPages>> InterpretedDevice::stage(std::span<const InputBlock> blocks) {
  return host_pages(blocks);
}

Result<ResultBlock> InterpretedDevice::results(std::size_t size_bytes) {
  auto block = host_results(size_bytes);
  if (block && size_bytes > 0) std::memset(block->host.get(), config_.poison ? 0xff : 0, size_bytes);
  return block;
}

Status InterpretedDevice::read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) {
  const Planes* planes = this->pool(pool);
  return planes != nullptr ? planes->save(slot, to) : invalid("there is no pool " + std::to_string(pool));
}

Status InterpretedDevice::write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) {
  Planes* planes = this->pool(pool);
  return planes != nullptr ? planes->load(slot, from) : invalid("there is no pool " + std::to_string(pool));
}

const InterpretedCell* InterpretedDevice::cell(CellTypeId type) const {
  const std::shared_lock lock(mutex_);
  const auto it = cells_.find(type);
  return it == cells_.end() ? nullptr : it->second.get();
}

Planes* InterpretedDevice::pool(PoolId pool) {
  const std::shared_lock lock(mutex_);
  const auto it = pools_.find(pool);
  return it == pools_.end() ? nullptr : &it->second;
}

Status InterpretedDevice::copy(Device& from, std::span<const SlotCopy> copies) {
  auto* source = dynamic_cast<InterpretedDevice*>(&from);
  if (source == nullptr) return invalid("states can only be copied between interpreting devices");
  for (const SlotCopy& copy : copies) {
    const Planes* a = source->pool(copy.pool);
    Planes* b = pool(copy.pool);
    if (Status ok = check_slot_copy<Planes>(copy, a, b); !ok) return ok;
    b->copy(*a, copy.from, copy.to);
  }
  return {};
}

}  // namespace volvox
