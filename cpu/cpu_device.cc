#include "cpu/cpu_device.h"

#include <mutex>
#include <string>
#include <utility>

#include <unistd.h>

#include "cpu/cells/generic_cell.h"
#include "cpu/cost_probe.h"
#include "cpu/fold_rows.h"
#include "cpu/fused/fused_cell.h"
#include "device/host_memory.h"
#include "device/slot_copies.h"

namespace volvox::cpu {
namespace {

std::uint64_t three_quarters_of_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::uint64_t{1} << 32;
  return static_cast<std::uint64_t>(pages) / 4 * 3 * static_cast<std::uint64_t>(page_bytes);
}

}  // namespace

Result<std::unique_ptr<Device>> CpuDevice::make(const CpuOptions& options) {
  if (!supported(options.isa)) {
    return invalid("this processor or build cannot run '" + std::string(to_string(options.isa)) +
                   "' kernels; choose auto");
  }
  return std::unique_ptr<Device>(new CpuDevice(options));
}

CpuDevice::CpuDevice(const CpuOptions& options)
    : options_(options),
      kernels_(kernels_for(options.isa)),
      memory_bytes_(options.memory_bytes != 0 ? options.memory_bytes : three_quarters_of_memory()) {}

Status CpuDevice::add_pool(PoolId pool, std::span<const StateKind> kinds, std::uint32_t slots) {
  if (find_pool(pool) != nullptr) return invalid("pool " + std::to_string(pool) + " exists already");
  const std::uint64_t bytes = std::uint64_t{slots} * Planes::slot_bytes(kinds);
  if (bytes > memory_bytes_ - used_bytes_) {
    return fail(ErrorCode::kOverloaded, "pool " + std::to_string(pool) + " of " + std::to_string(slots) +
                                            " slots needs " + std::to_string(bytes >> 20) +
                                            " MiB, more than is left; ask for fewer slots");
  }
  auto planes = Planes::make(kinds, slots);
  if (!planes) return tl::unexpected(planes.error());
  const std::unique_lock lock(mutex_);
  used_bytes_ += bytes;
  pools_.emplace(pool, std::make_unique<Planes>(std::move(*planes)));
  return {};
}

void CpuDevice::remove_type(CellTypeId type) {
  const std::unique_lock lock(mutex_);
  const auto it = cells_.find(type);
  if (it == cells_.end()) return;
  used_bytes_ -= it->second->packed_bytes();
  cells_.erase(it);
}

void CpuDevice::remove_pool(PoolId pool) {
  const std::unique_lock lock(mutex_);
  const auto it = pools_.find(pool);
  if (it == pools_.end()) return;
  used_bytes_ -= it->second->bytes();
  pools_.erase(it);
}

Result<std::unique_ptr<CpuCell>> CpuDevice::build(const Cell& cell, const Weights& weights,
                                                  const CompileOptions& options) {
  if (options_.fuse) {
    auto fused = FusedCell::make(cell, weights, options, *this, *kernels_);
    if (!fused || *fused != nullptr) return fused;
  }
  return GenericCell::make(cell, weights, options, *this, *kernels_);
}

Result<CompiledCell> CpuDevice::compile(CellTypeId type, const Cell& cell, const Weights& weights,
                                        const CompileOptions& options) {
  if (find_cell(type) != nullptr) return invalid("cell type " + std::to_string(type) + " exists already");
  auto built = build(cell, weights, options);
  if (!built) return tl::unexpected(built.error());
  CompiledCell compiled;
  compiled.flops_per_row = (*built)->flops_per_row();
  compiled.kernel = (*built)->kernel() + " " + kernels_->name;
  const std::uint64_t bytes = (*built)->packed_bytes();
  if (bytes > memory_bytes_ - used_bytes_) {
    return fail(ErrorCode::kOverloaded, "cell '" + cell.name + "' needs " + std::to_string(bytes >> 20) +
                                            " MiB for its packed weights, more than is left; unload a model");
  }
  const CostProbe probe{options_.threads, options_.measure};
  auto costs = probe.costs(**built, options, *this);
  if (!costs) return tl::unexpected(costs.error());
  compiled.costs = std::move(*costs);
  const std::unique_lock lock(mutex_);
  used_bytes_ += bytes;
  cells_.emplace(type, std::move(*built));
  return compiled;
}

FoldRows CpuDevice::folding() const {
  return [kernels = kernels_, threads = options_.threads](const FoldedTable& table, float* out) {
    return fold_rows(*kernels, threads, table, out);
  };
}

Result<std::unique_ptr<Queue>> CpuDevice::open(const QueueConfig& config) {
  return CpuQueue::open(config, *this, *this);
}

Result<std::unique_ptr<InputPages>> CpuDevice::stage(std::span<const InputBlock> blocks) {
  return host_pages(blocks);
}

Result<ResultBlock> CpuDevice::results(std::size_t size_bytes) {
  return host_results(size_bytes);
}

Status CpuDevice::read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) {
  const Planes* planes = find_pool(pool);
  return planes != nullptr ? planes->save(slot, to) : invalid("there is no pool " + std::to_string(pool));
}

Status CpuDevice::write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) {
  Planes* planes = find_pool(pool);
  return planes != nullptr ? planes->load(slot, from) : invalid("there is no pool " + std::to_string(pool));
}

Planes* CpuDevice::find_pool(PoolId pool) {
  const std::shared_lock lock(mutex_);
  const auto it = pools_.find(pool);
  return it == pools_.end() ? nullptr : it->second.get();
}

const CpuCell* CpuDevice::find_cell(CellTypeId type) const {
  const std::shared_lock lock(mutex_);
  const auto it = cells_.find(type);
  return it == cells_.end() ? nullptr : it->second.get();
}

Status CpuDevice::check_copies(Device& from, std::span<const SlotCopy> copies,
                               std::vector<ReadyCopy>& ready) {
  auto* source = dynamic_cast<CpuDevice*>(&from);
  if (source == nullptr) return invalid("states can only be copied between CPU devices");
  for (const SlotCopy& copy : copies) {
    const Planes* a = source->find_pool(copy.pool);
    Planes* b = find_pool(copy.pool);
    if (Status ok = check_slot_copy<Planes>(copy, a, b); !ok) return ok;
    ready.push_back({b, a, copy});
  }
  return {};
}

}  // namespace volvox::cpu
