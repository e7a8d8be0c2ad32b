#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "gpu/driver/driver.h"
#include "gpu/memory/gpu_planes.h"
#include "gpu/memory/input_arena.h"
#include "gpu/memory/result_arena.h"
#include "gpu/memory/slot_mover.h"
#include "gpu/program/gpu_cell.h"
#include "gpu/queue/gpu_queue.h"

namespace volvox::gpu {

struct GpuOptions {
  std::uint64_t input_bytes = std::uint64_t{256} << 20;   // inputs of requests that are live
  std::uint64_t result_bytes = std::uint64_t{256} << 20;  // their results, in pinned memory of the host
  CellOptions cells;
  bool measure = true;  // off: costs are guesses, and the generic path is taken
};

// A GPU as a device. Planes, weights and scratch lie in its memory, all allocated at load; inputs go up as
// requests arrive; results are written by kernels into memory of the host. Tasks are CUDA graphs, one for
// each cell type and batch size, or two kernels. Full memory is OVERLOADED, a broken GPU UNAVAILABLE. Threads
// as for Device; queues, pages and results must be destroyed before it.
class GpuDevice final : public Device, private CopyChecker {
 public:
  static Result<std::unique_ptr<Device>> make(std::shared_ptr<Driver> driver, const GpuOptions& options);
  ~GpuDevice() override;

  std::string_view name() const override { return "gpu"; }
  Status add_pool(PoolId pool, std::span<const StateKind> kinds, std::uint32_t slots) override;
  std::uint64_t slot_bytes(std::span<const StateKind> kinds) const override;
  Result<CompiledCell> compile(CellTypeId type, const Cell& cell, const Weights& weights,
                               const CompileOptions& options) override;
  void remove_type(CellTypeId type) override;
  void remove_pool(PoolId pool) override;
  FoldRows folding() const override;
  Result<std::unique_ptr<Queue>> open(const QueueConfig& config) override;
  Result<std::unique_ptr<InputPages>> stage(std::span<const InputBlock> blocks) override;
  Result<ResultBlock> results(std::size_t size_bytes) override;
  Status read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) override;
  Status write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) override;

 private:
  GpuDevice(std::shared_ptr<Driver> driver, const GpuOptions& options);
  Status allocate();
  std::optional<ElementType> shadow() const;
  const GpuPlanes* find_pool(PoolId pool) const;
  const GpuCell* find_cell(CellTypeId type) const;
  Status check_copies(Device& from, std::span<const SlotCopy> copies, std::vector<ReadyCopy>& ready) override;

  const std::shared_ptr<Driver> driver_;
  const GpuOptions options_;
  StreamId load_stream_ = 0;
  std::unique_ptr<InputArena> inputs_;
  std::unique_ptr<ResultArena> results_;
  std::unique_ptr<SlotMover> mover_;
  mutable std::shared_mutex mutex_;  // guards the maps; what they hold never moves
  std::map<PoolId, std::unique_ptr<GpuPlanes>> pools_;
  std::map<CellTypeId, std::unique_ptr<GpuCell>> cells_;
  std::set<QueueContext*> open_;
};

}  // namespace volvox::gpu
