#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <vector>

#include "cpu/cells/cpu_cell.h"
#include "cpu/cells/row_source.h"
#include "cpu/isa.h"
#include "cpu/queue/cpu_queue.h"
#include "device/device.h"

namespace volvox::cpu {

struct CpuOptions {
  Isa isa = Isa::kAuto;
  // Compute threads of the queues that will be opened: costs are measured with as many.
  std::uint32_t threads = 1;
  // For planes and packed weights; 0: three quarters of the machine's memory.
  std::uint64_t memory_bytes = 0;
  // Run every compiled cell a few times at several batch sizes. Off: costs are estimated.
  bool measure = true;
  // Recognise cells that a fused kernel computes. Off: every cell is interpreted, with the same bits.
  bool fuse = true;
};

// The host as a device: planes and weights in its memory, inputs read and results written in place, and a
// queue for each worker with threads of its own. Every batch size up to max_batch is supported, and no bit of
// an answer depends on batch size, neighbours, threads or instruction set (docs/architecture.md, numerics).
// Threads as for Device; queues must be destroyed before it.
class CpuDevice final : public Device, private PoolFinder, private CellFinder, private CopyChecker {
 public:
  // Fails when the processor cannot run the instruction set.
  static Result<std::unique_ptr<Device>> make(const CpuOptions& options);

  std::string_view name() const override { return "cpu"; }
  Status add_pool(PoolId pool, std::span<const StateKind> kinds, std::uint32_t slots) override;
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
  explicit CpuDevice(const CpuOptions& options);
  Planes* find_pool(PoolId pool) override;
  const CpuCell* find_cell(CellTypeId type) const override;
  Status check_copies(Device& from, std::span<const SlotCopy> copies, std::vector<ReadyCopy>& ready) override;
  Result<std::unique_ptr<CpuCell>> build(const Cell& cell, const Weights& weights,
                                         const CompileOptions& options);

  const CpuOptions options_;
  const Kernels* kernels_;
  std::uint64_t memory_bytes_;
  std::uint64_t used_bytes_ = 0;     // of planes and packed weights; the loading thread's own
  mutable std::shared_mutex mutex_;  // guards the maps; what they hold never moves
  std::map<PoolId, std::unique_ptr<Planes>> pools_;
  std::map<CellTypeId, std::unique_ptr<const CpuCell>> cells_;
};

}  // namespace volvox::cpu
