#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/interpreted_cell.h"
#include "device/planes.h"

namespace volvox {

// What the test devices share: planes in host memory, and cells that are evaluated operator by operator. They
// differ in when a task runs, and in who says so: open() is theirs.
class InterpretedDevice : public Device {
 public:
  struct Config {
    std::string name;
    std::vector<std::uint32_t> sizes;                 // supported batch sizes, as compile() answers
    std::vector<CompiledCell::Cost> costs{{1, 1.0}};  // likewise
    bool poison = false;                              // fill new planes and results with NaN
  };

  explicit InterpretedDevice(Config config) : config_(std::move(config)) {}

  std::string_view name() const override { return config_.name; }
  Status add_pool(PoolId pool, std::span<const StateKind> kinds, std::uint32_t slots) override;
  Result<CompiledCell> compile(CellTypeId type, const Cell& cell, const Weights& weights,
                               const CompileOptions& options) override;
  void remove_type(CellTypeId type) override;
  void remove_pool(PoolId pool) override;
  Result<std::unique_ptr<InputPages>> stage(std::span<const InputBlock> blocks) override;
  // Zeros, unless poisoned: not every device that interprets computes every cell.
  Result<ResultBlock> results(std::size_t size_bytes) override;
  Status read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) override;
  Status write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) override;

  // For the queues, from any thread. nullptr: there is none.
  const InterpretedCell* cell(CellTypeId type) const;
  Planes* pool(PoolId pool);
  // Copies slots from another device (or this one), which must interpret, too.
  Status copy(Device& from, std::span<const SlotCopy> copies);

 private:
  Config config_;
  mutable std::shared_mutex mutex_;  // guards the maps; what they hold never moves
  std::map<PoolId, Planes> pools_;
  std::map<CellTypeId, std::unique_ptr<const InterpretedCell>> cells_;
};

}  // namespace volvox
