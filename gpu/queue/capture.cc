#include <algorithm>
#include <string>
#include <utility>

#include "gpu/driver/captured.h"
#include "gpu/driver/random_fill.h"
#include "gpu/kernels/stage_cut.h"
#include "gpu/queue/batch_sizes.h"
#include "gpu/queue/queue_context.h"
#include "gpu/queue/type_context.h"

// What happens at load: scratch, products, graphs. Nothing here runs while serving.
namespace volvox::gpu {
namespace {

// Calls with every array of a view, and the bytes of an entry.
template <class Use>
void each_array(RowView& view, const Use& use) {
  for (auto& gather : view.gathers) use(gather, sizeof(std::uint32_t));
  for (auto& pull : view.pulls) use(pull, sizeof(std::uint64_t));
  use(view.out, sizeof(std::uint32_t));
  for (auto& push : view.pushes) use(push, kTargets * sizeof(std::uint64_t));
  use(view.wanted, sizeof(std::uint32_t));
  for (auto& source : view.sources) use(source, sizeof(std::uint64_t));
}

}  // namespace

Status QueueContext::prepare(const GpuCell& cell) {
  auto type = std::make_unique<TypeContext>();
  type->cell = &cell;
  type->name = "type " + std::to_string(cell.type);
  if (Status ok = allocate_type(*type); !ok) return ok;
  {
    const std::lock_guard lock(mutex_);
    types_[cell.type] = std::move(type);
  }
  for (std::uint32_t size : cell.sizes) {
    if (cell.runs_direct(size)) continue;
    for (std::uint32_t edges : cell.edge_sizes) {
      if (Status ok = capture(cell, size, edges, cell.runs_fused(size)); !ok) return ok;
    }
  }
  return {};
}

Status QueueContext::allocate_type(TypeContext& type) {
  const GpuCell& cell = *type.cell;
  const std::uint64_t rows = cell.sizes.back();
  std::uint64_t bytes = 0;
  const auto place = [&](std::uint64_t size_bytes) {
    const std::uint64_t begin = bytes;
    bytes += (size_bytes + 255) / 256 * 256;
    return begin;
  };
  std::vector<RowView*> views{&type.view};
  if (!cell.sources.empty()) views.insert(views.end(), {&type.direct[0], &type.direct[1]});
  for (RowView* view : views) {
    each_array(*view,
               [&](std::uint64_t& array, std::size_t entry_bytes) { array = place(rows * entry_bytes); });
  }
  auto arrays = DeviceMemory::make(*driver_, bytes);
  if (!arrays) return tl::unexpected(arrays.error());
  auto scratch = DeviceMemory::make(*driver_, cell.plan.scratch_bytes);
  if (!scratch) return tl::unexpected(scratch.error());
  auto table = DeviceMemory::make(*driver_, rows * sizeof(RowRecord));
  if (!table) return tl::unexpected(table.error());
  type.table = std::move(*table);
  type.rows = std::move(*arrays);
  type.scratch = std::move(*scratch);
  for (RowView* view : views) {
    each_array(*view, [&](std::uint64_t& array, std::size_t) { array += type.rows.address(); });
  }
  return {};
}

Status QueueContext::plan_products(GpuCell& cell) {
  TypeContext type;
  type.cell = &cell;
  if (Status ok = allocate_type(type); !ok) return ok;
  for (std::uint32_t p = 0; p < cell.plan.products.size(); ++p) {
    const ProductPlan& product = cell.plan.products[p];
    const std::vector<std::uint32_t>& sizes = product.ragged ? cell.edge_sizes : cell.sizes;
    const std::uint64_t elements = std::uint64_t{sizes.back()} * product.stride_k;
    if (Status ok = fill_random(*driver_, capture_stream_, type.scratch.address() + product.x, elements,
                                operand_type(cell.options.precision), p + 1);
        !ok) {
      return ok;
    }
    for (std::uint32_t rows : sizes) {
      const ProductShape shape{rows,
                               product.outputs,
                               product.stride_k,
                               product.stride_k,
                               product.stride_out,
                               cell.options.precision,
                               cell.options.reproducible};
      auto made = driver_->plan(shape, {0, type.scratch.address() + product.x, product.w,
                                        type.scratch.address() + product.out, workspace_.address()});
      if (!made) return tl::unexpected(made.error());
      cell.products[{p, rows}] = *made;
    }
  }
  return {};
}

Status QueueContext::plan_convolutions(GpuCell& cell) {
  for (std::uint32_t c = 0; c < cell.plan.convolutions.size(); ++c) {
    const ConvolutionPlan& convolution = cell.plan.convolutions[c];
    for (std::uint32_t rows : cell.sizes) {
      const auto wide = [](const Place& place) { return place.stride_bytes / element_bytes(place.type); };
      auto made =
          driver_->plan(ConvolutionShape{convolution.shape, rows, wide(convolution.x), wide(convolution.out),
                                         cell.options.precision, cell.options.reproducible});
      if (!made) return tl::unexpected(made.error());
      cell.convolutions[{c, rows}] = *made;
    }
  }
  return {};
}

// Libraries load modules and allocate when they first run something, which a capture may not survive. The
// queue may serve other models meanwhile, and what it runs has its workspace for itself.
Status QueueContext::warm_up(const TypeContext& type, std::uint32_t size, std::uint32_t edges) {
  for (const CellPlan::Step& step : type.cell->plan.steps) {
    const bool foreign =
        step.kind == CellPlan::Step::Kind::kProduct || step.kind == CellPlan::Step::Kind::kConvolution;
    if (!foreign) continue;
    if (Status ok = launch_step(type, step, size, edges, false, capture_workspace_.address()); !ok) return ok;
  }
  return driver_->synchronise(capture_stream_);
}

Status QueueContext::capture(const GpuCell& cell, std::uint32_t size, std::uint32_t edges, bool fused) {
  TypeContext* type = find(cell.type);
  if (!fused) {
    if (Status ok = warm_up(*type, size, edges); !ok) return ok;
  }
  const auto graph =
      captured(*driver_, capture_stream_, [&] { return launch_kernels(*type, size, edges, fused); });
  if (!graph) return tl::unexpected(graph.error());
  GraphId& known = type->graphs[{size, edges}];
  if (known != 0) driver_->destroy_graph(known);
  known = *graph;
  return {};
}

ResolveCall QueueContext::resolve_call(const TypeContext& type, std::uint32_t size) const {
  const GpuCell& cell = *type.cell;
  ResolveCall call{};
  call.queue = view_;
  call.view = type.view;
  call.table = type.table.address();
  call.padded_rows = size;
  call.gathers = cell.shape.gathers;
  call.pulls = cell.shape.pulls;
  call.pushes = cell.shape.pushes;
  std::copy(cell.gather_slots.begin(), cell.gather_slots.end(), call.gather_slots);
  call.out_slots = cell.out_slots;
  call.places = cell.places;
  return call;
}

Status QueueContext::launch_kernels(const TypeContext& type, std::uint32_t size, std::uint32_t edges,
                                    bool fused) {
  if (Status ok = driver_->launch(capture_stream_, resolve_call(type, size)); !ok) return ok;
  if (fused) {
    FusedCall call = *type.cell->fused;
    call.task.queue = view_;
    call.task.view = type.view;
    call.task.rows = size;
    return driver_->launch(capture_stream_, call);
  }
  const auto& steps = type.cell->plan.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool last = i + 1 == steps.size();
    if (Status ok = launch_step(type, steps[i], size, edges, last, workspace_.address()); !ok) return ok;
  }
  const bool ended = !steps.empty() && steps.back().kind == CellPlan::Step::Kind::kStage;
  return ended ? Status{} : driver_->launch(capture_stream_, FinishCall{view_});
}

Status QueueContext::launch_step(const TypeContext& type, const CellPlan::Step& step, std::uint32_t size,
                                 std::uint32_t edges, bool last, DeviceAddress workspace) {
  const GpuCell& cell = *type.cell;
  const DeviceAddress scratch = type.scratch.address();
  if (step.kind == CellPlan::Step::Kind::kProduct) {
    const ProductPlan& product = cell.plan.products[step.index];
    const std::uint32_t rows = product.ragged ? edges : size;
    return driver_->launch(capture_stream_,
                           ProductCall{cell.products.at({step.index, rows}), scratch + product.x, product.w,
                                       scratch + product.out, workspace});
  }
  if (step.kind == CellPlan::Step::Kind::kConvolution) {
    const ConvolutionPlan& convolution = cell.plan.convolutions[step.index];
    return driver_->launch(capture_stream_, ConvolutionCall{cell.convolutions.at({step.index, size}),
                                                            scratch + convolution.x.base, convolution.w,
                                                            scratch + convolution.out.base, workspace});
  }
  if (step.kind == CellPlan::Step::Kind::kArgmax) {
    const ArgmaxPlan& argmax = cell.plan.argmaxes[step.index];
    return driver_->launch(
        capture_stream_, ArgmaxCall{scratch + argmax.x.base, scratch + argmax.out.base, argmax.x.stride_bytes,
                                    argmax.out.stride_bytes, size, argmax.width, argmax.bias});
  }
  const StagePlan& stage = cell.plan.stages[step.index];
  PointwiseCall call;
  call.queue = view_;
  call.view = type.view;
  call.programs = cell.programs + stage.first_program * sizeof(Program);
  call.instructions = cell.instructions;
  call.places = cell.places;
  call.program_count = stage.program_count;
  call.rows = size;
  call.edges = stage.ragged ? edges : 0;
  call.widest = stage.widest;
  call.registers = stage.registers;
  call.scratch = scratch;
  call.last = last ? 1 : 0;
  call.compiled = cell.stages.module();
  call.stage = step.index;
  for (std::uint32_t p = 0; p < stage.program_count; ++p) {
    const Program& program = cell.plan.programs[stage.first_program + p];
    const std::uint64_t blocks = stage_blocks(program.width, program.ragged != 0 ? edges : size);
    call.blocks = std::max(
        call.blocks, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, kMostStageBlocks)));
  }
  return driver_->launch(capture_stream_, call);
}

}  // namespace volvox::gpu
