#include "gpu/program/gpu_cell.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "cells/ops/ops.h"
#include "gpu/program/plan_leaves.h"
#include "gpu/program/stage_source.h"
#include "gpu/queue/batch_sizes.h"
#include "gpu/queue/payload_ring.h"

namespace volvox::gpu {
namespace {

// Instructions of a cell; more would take a compiler many seconds.
constexpr std::size_t kMostCompiled = 4096;

}  // namespace

Result<std::unique_ptr<GpuCell>> GpuCell::make(Driver& driver, StreamId stream, CellTypeId type,
                                               const Cell& cell, const Weights& weights,
                                               const CompileOptions& compile, const CellOptions& options,
                                               const std::function<const GpuPlanes*(PoolId)>& pools) {
  auto made = std::make_unique<GpuCell>();
  made->type = type;
  made->shape = row_shape(cell);
  if (made->shape.ragged && compile.max_edges > kMostEdges) {
    return invalid("cell '" + cell.name + "': max_edges must be at most " + std::to_string(kMostEdges) +
                   " on a GPU");
  }
  // More than TaskEncoder writes of the largest task: rows that are all bound anew, with all emits that there
  // can be.
  const std::uint64_t row_bytes = sizeof(RowRecord) + 2 * sizeof(std::uint32_t) +
                                  (kTargets - 1) * made->shape.pushes * sizeof(EmitRecord);
  const std::uint64_t most =
      compile.max_batch * row_bytes +
      (made->shape.ragged ? 2 * sizeof(std::uint32_t) * std::uint64_t{compile.max_edges} : 0);
  if (most > kPayloadBytes) {
    return invalid("cell '" + cell.name + "': tasks of max_batch = " + std::to_string(compile.max_batch) +
                   " rows are larger than the ring of task descriptors; on a GPU " +
                   std::to_string(kPayloadBytes / row_bytes) + " rows are possible, fewer with edges");
  }
  made->options = options;
  made->sizes = batch_sizes(compile.max_batch);
  made->max_edges = made->shape.ragged ? compile.max_edges : 0;
  made->edge_sizes =
      made->shape.ragged ? volvox::gpu::edge_sizes(made->max_edges) : std::vector<std::uint32_t>{0};
  const PlanResources resources{
      pools, [&](std::span<const std::byte> bytes) { return made->keep(driver, stream, bytes); }};
  const PlanOptions plan_options{compile,
                                 options.precision,
                                 options.reproducible,
                                 driver.info().major,
                                 driver.info().multiprocessors,
                                 options.plain};
  PlanLeaves leaves(cell, weights, plan_options, resources);
  auto plan = plan_cell(leaves);
  if (!plan) return tl::unexpected(plan.error());
  made->plan = std::move(*plan);
  if (Status ok = made->find_slots(cell, compile, pools); !ok) return tl::unexpected(ok.error());
  if (options.path != KernelPath::kGeneric) {
    auto fused = plan_fused(leaves);
    if (!fused) return tl::unexpected(fused.error());
    made->fused = *fused;
    if (made->fused) made->sources = made->fused->step->sources();
  }
  if (Status ok = made->upload_plan(driver, stream, leaves.places()); !ok) return tl::unexpected(ok.error());
  if (Status ok = made->compile_stages(driver, leaves.places()); !ok) return tl::unexpected(ok.error());
  return made;
}

Result<DeviceAddress> GpuCell::keep(Driver& driver, StreamId stream, std::span<const std::byte> bytes) {
  auto memory = DeviceMemory::make(driver, bytes.size());
  if (!memory) return tl::unexpected(memory.error());
  if (Status ok = upload(driver, stream, memory->address(), bytes); !ok) return tl::unexpected(ok.error());
  device_bytes += bytes.size();
  memory_.push_back(std::move(*memory));
  return memory_.back().address();
}

// The bounds that rows are checked against. What is not there has been refused by the plan.
Status GpuCell::find_slots(const Cell& cell, const CompileOptions& compile,
                           const std::function<const GpuPlanes*(PoolId)>& pools) {
  gather_slots.fill(~std::uint32_t{0});
  for (const Operator& op : cell.operators) {
    if (op.is(kGatherOp)) gather_slots[op.index] = pools(compile.gather_pools[op.index])->slots();
    if (op.is(kGatherAllOp)) ragged_slots = pools(compile.ragged_pool)->slots();
    if (op.is(kScatterOp)) out_slots = pools(compile.out_pool)->slots();
  }
  return {};
}

Status GpuCell::upload_plan(Driver& driver, StreamId stream, const std::vector<Place>& plan_places) {
  const auto put = [&](const auto& list, DeviceAddress& to) -> Status {
    auto address = keep(driver, stream, std::as_bytes(std::span(list)));
    if (!address) return tl::unexpected(address.error());
    to = *address;
    return {};
  };
  if (Status ok = put(plan.programs, programs); !ok) return ok;
  if (Status ok = put(plan.instructions, instructions); !ok) return ok;
  if (Status ok = put(plan_places, places); !ok) return ok;
  if (fused) fused->task.places = places;
  return {};
}

Status GpuCell::compile_stages(Driver& driver, const std::vector<Place>& plan_places) {
  if (options.interpreted || plan.stages.empty() || plan.instructions.size() > kMostCompiled) return {};
  auto loaded = LoadedStages::make(driver, stage_source(plan, plan_places));
  if (!loaded) return tl::unexpected(loaded.error());
  stages = std::move(*loaded);
  return {};
}

}  // namespace volvox::gpu
