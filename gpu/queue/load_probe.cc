#include "gpu/queue/load_probe.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "gpu/driver/choice_cache.h"

namespace volvox::gpu {
namespace {

constexpr std::uint32_t kRepetitions = 20;
constexpr std::uint32_t kFirstSlot = 2;  // 0 and 1 are the initial state and the sink
constexpr double kGuessedTaskUs = 10, kGuessedFlopsPerUs = 50e6;

QueueConfig probe_config() {
  QueueConfig config;
  config.name = "load";
  config.max_tasks = kRepetitions;
  config.max_cohorts = 1;
  config.max_cohort_rows = 1;
  return config;
}

// A choice between the two ways to run a cell at one size.
std::string key_of(const DeviceInfo& info, const FusedCall& call, Precision precision, std::uint32_t rows) {
  return "path, " + info.kind + ", " + std::string(fused_kernels()[call.kernel]->name) + ", " +
         call.step->shape() + ", " + std::string(name_of(precision)) + ", " + std::to_string(rows) + " rows";
}

}  // namespace

Result<LoadProbe> LoadProbe::make(std::shared_ptr<Driver> driver, InputArena& inputs, const Cell& cell,
                                  const Weights& weights, GpuCell& compiled, bool measure) {
  auto rows = ProbeInputs::make(*driver, cell, weights, compiled.sizes.back());
  if (!rows) return tl::unexpected(rows.error());
  auto context = QueueContext::make(std::move(driver), inputs, probe_config());
  if (!context) return tl::unexpected(context.error());
  if (Status ok = (*context)->plan_products(compiled); !ok) return tl::unexpected(ok.error());
  if (Status ok = (*context)->plan_convolutions(compiled); !ok) return tl::unexpected(ok.error());
  if (Status ok = (*context)->prepare(compiled); !ok) return tl::unexpected(ok.error());
  return LoadProbe(std::move(*context), std::move(*rows), compiled, measure);
}

Result<CompiledCell> LoadProbe::run() {
  CompiledCell compiled;
  compiled.sizes = cell_.sizes;
  compiled.flops_per_row = cell_.plan.flops_per_row;
  bool fused = false;
  for (std::uint32_t rows : cell_.sizes) {
    auto us = best_us(rows);
    if (!us) return tl::unexpected(us.error());
    compiled.costs.push_back({rows, *us});
    fused = fused || cell_.fused_at[rows];
  }
  const char* generic = cell_.stages.module() != 0 ? "compiled" : "generic";
  compiled.kernel = std::string(fused ? fused_kernels()[cell_.fused->kernel]->name : generic) + " " +
                    std::string(name_of(cell_.options.precision));
  return compiled;
}

// Tries what there is to try, and says in the cell which way is the better one.
Result<double> LoadProbe::best_us(std::uint32_t rows) {
  cell_.fused_at[rows] = false;
  auto generic = time_us(rows);
  const bool choose = measure_ && !cell_.options.reproducible;
  const bool wanted = cell_.fused && (cell_.options.path == KernelPath::kFused || choose);
  if (!generic || !wanted) return generic;
  cell_.fused_at[rows] = true;
  if (!cell_.runs_direct(rows)) {
    for (std::uint32_t edges : cell_.edge_sizes) {
      if (Status ok = context_->capture(cell_, rows, edges, true); !ok) return tl::unexpected(ok.error());
    }
  }
  auto fused = time_us(rows);
  if (!fused) return fused;
  cell_.fused_at[rows] = cell_.options.path == KernelPath::kFused || takes_fused(rows, *fused < *generic);
  return cell_.fused_at[rows] ? *fused : *generic;
}

// The two give different bits: which of them was the faster one when it was first measured holds for all
// starts after it.
bool LoadProbe::takes_fused(std::uint32_t rows, bool faster) const {
  Driver& driver = context_->driver();
  if (driver.choices() == nullptr) return faster;
  const std::string key = key_of(driver.info(), *cell_.fused, cell_.options.precision, rows);
  return driver.choices()->keep(key, faster ? "fused" : "generic") == "fused";
}

double LoadProbe::guess_us(std::uint32_t rows) const {
  return kGuessedTaskUs + rows * cell_.plan.flops_per_row / kGuessedFlopsPerUs;
}

// From task to task of a full queue, as the scheduler will pay for it: with the copies of descriptors and the
// gaps between kernels, which the GPU's own clock does not see. (A direct task is a little slower here: ids
// of the probe do not lie among the inputs, so its rows are not all found early.)
Result<double> LoadProbe::time_us(std::uint32_t rows) {
  using Clock = std::chrono::steady_clock;
  if (Status ok = run(rows, 1); !ok) return tl::unexpected(ok.error());
  if (!measure_) return guess_us(rows);
  const auto begin = Clock::now();
  if (Status ok = run(rows, kRepetitions); !ok) return tl::unexpected(ok.error());
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kRepetitions;
}

// Rows that read slots of their own and write others: what a batch of requests does. The pool is still empty.
RowBinding LoadProbe::scattered(std::uint32_t rows) const {
  RowBinding binding;
  binding.span = binding.length = rows;
  inputs_.bind(binding, 0);
  std::uint32_t read_end = kFirstSlot;
  for (std::uint32_t g = 0; g < cell_.shape.gathers; ++g) {
    const std::uint32_t slots = cell_.gather_slots[g];
    if (slots <= kFirstSlot) continue;
    const std::uint32_t ring = std::min(rows, slots - kFirstSlot);
    binding.gathers[g] = {kFirstSlot, ring, 0, 1, kInitialSlot};
    read_end = std::max(read_end, kFirstSlot + ring);
  }
  // Never a slot that another row of the task reads.
  if (cell_.out_slots >= read_end + rows) {
    binding.out_base = read_end;
    binding.out_ring = rows;
  }
  return binding;
}

// The nodes of a tree are rows of their own, each with about one edge to a child.
void LoadProbe::add_ragged(Task& task) const {
  RowBinding binding;
  binding.length = 1;
  binding.ragged = {kInitialSlot, 1, false};
  task.bindings.assign(task.rows, binding);
  for (std::uint32_t row = 0; row < task.rows; ++row) inputs_.bind(task.bindings[row], row);
}

Status LoadProbe::run(std::uint32_t rows, std::uint32_t tasks) {
  for (std::uint32_t i = 0; i < tasks; ++i) {
    Task task;
    task.seq = ++seq_;
    task.type = cell_.type;
    task.rows = task.padded_rows = rows;
    if (cell_.shape.ragged && rows <= cell_.max_edges) {
      add_ragged(task);
    } else {
      task.bindings.push_back(scattered(rows));
    }
    auto taken = context_->take(task);
    if (taken && *taken == QueueContext::Taken::kLater) {
      if (Status ok = context_->synchronise(); !ok) return ok;
      taken = context_->take(task);
    }
    if (!taken) return tl::unexpected(taken.error());
    if (Status ok = context_->flush(); !ok) return ok;
  }
  if (Status ok = context_->synchronise(); !ok) return ok;
  if (context_->done() != seq_)
    return fail(ErrorCode::kInternal, "the GPU does not report a task of " + std::to_string(rows) + " rows");
  return {};
}

}  // namespace volvox::gpu
