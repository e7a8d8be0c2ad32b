#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/row_table.h"
#include "gpu/driver/driver.h"
#include "gpu/program/cell_plan.h"

namespace volvox::gpu {

// Which of the two ways to run a cell is taken. Auto: what measured faster at load, size by size.
enum class KernelPath : std::uint8_t { kAuto, kGeneric, kFused };

// How cells are compiled on one device.
struct CellOptions {
  Precision precision = Precision::kFloat32;
  bool reproducible = false;
  KernelPath path = KernelPath::kAuto;
  bool plain = false;        // PlanOptions::plain
  bool interpreted = false;  // stages are not compiled: programs are read as they run
};

// A compiled cell on one device: weights and programs in its memory, shared by all queues. Immutable once
// compile() has returned.
class GpuCell {
 public:
  static Result<std::unique_ptr<GpuCell>> make(Driver& driver, StreamId stream, CellTypeId type,
                                               const Cell& cell, const Weights& weights,
                                               const CompileOptions& compile, const CellOptions& options,
                                               const std::function<const GpuPlanes*(PoolId)>& pools);

  CellTypeId type = 0;
  RowShape shape;
  CellPlan plan;
  CellOptions options;
  std::uint32_t max_edges = 0;
  std::vector<std::uint32_t> sizes;       // supported batch sizes, ascending
  std::vector<std::uint32_t> edge_sizes;  // of ragged cells; else {0}
  std::array<std::uint32_t, kMaxGathers> gather_slots{};
  std::uint32_t ragged_slots = 0, out_slots = 0;
  DeviceAddress programs = 0, instructions = 0, places = 0;
  // By number of the product and number of rows.
  std::map<std::pair<std::uint32_t, std::uint32_t>, ProductId> products;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ConvolutionId> convolutions;  // likewise
  LoadedStages stages;                     // none: programs are read as they run
  std::optional<FusedCall> fused;          // view, queue and rows of its task left open
  std::vector<Place> sources;              // the fused kernel's
  std::map<std::uint32_t, bool> fused_at;  // by batch size: the fused kernel runs it
  std::uint64_t device_bytes = 0;

  // Whether tasks of a size are run by the fused kernel, and are launched as they are rather than as a graph.
  bool runs_fused(std::uint32_t size) const {
    const auto found = fused_at.find(size);
    return found != fused_at.end() && found->second;
  }
  bool runs_direct(std::uint32_t size) const { return !sources.empty() && runs_fused(size); }

 private:
  Result<DeviceAddress> keep(Driver& driver, StreamId stream, std::span<const std::byte> bytes);
  Status find_slots(const Cell& cell, const CompileOptions& compile,
                    const std::function<const GpuPlanes*(PoolId)>& pools);
  Status upload_plan(Driver& driver, StreamId stream, const std::vector<Place>& plan_places);
  Status compile_stages(Driver& driver, const std::vector<Place>& plan_places);

  std::vector<DeviceMemory> memory_;
};

}  // namespace volvox::gpu
