#include "gpu/queue/load_probe.h"

#include <algorithm>
#include <string>
#include <utility>

namespace volvox::gpu {
namespace {

constexpr int kRepetitions = 20;
constexpr double kGuessedTaskUs = 10, kGuessedFlopsPerUs = 50e6;

QueueConfig probe_config() {
  QueueConfig config;
  config.name = "load";
  config.max_tasks = 1;
  config.max_cohorts = 1;
  config.max_cohort_rows = 1;
  return config;
}

}  // namespace

Result<LoadProbe> LoadProbe::make(std::shared_ptr<Driver> driver, InputArena& inputs, GpuCell& cell,
                                  bool measure) {
  auto context = QueueContext::make(std::move(driver), inputs, probe_config());
  if (!context) return tl::unexpected(context.error());
  if (Status ok = (*context)->plan_products(cell); !ok) return tl::unexpected(ok.error());
  if (Status ok = (*context)->plan_convolutions(cell); !ok) return tl::unexpected(ok.error());
  if (Status ok = (*context)->prepare(cell); !ok) return tl::unexpected(ok.error());
  return LoadProbe(std::move(*context), cell, measure);
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
  compiled.kernel = (fused ? "lstm " : "generic ") + std::string(name_of(cell_.options.precision));
  return compiled;
}

// Tries what there is to try, leaves the graph of the better one, and says so in the cell.
Result<double> LoadProbe::best_us(std::uint32_t rows) {
  cell_.fused_at[rows] = false;
  auto generic = time_us(rows);
  const bool choose = measure_ && !cell_.options.reproducible;
  const bool wanted = cell_.fused && (cell_.options.path == KernelPath::kFused || choose);
  if (!generic || !wanted) return generic;
  for (std::uint32_t edges : cell_.edge_sizes) {
    if (Status ok = context_->capture(cell_, rows, edges, true); !ok) return tl::unexpected(ok.error());
  }
  auto fused = time_us(rows);
  if (!fused) return fused;
  cell_.fused_at[rows] = cell_.options.path == KernelPath::kFused || *fused < *generic;
  return cell_.fused_at[rows] ? *fused : *generic;
}

double LoadProbe::guess_us(std::uint32_t rows) const {
  return kGuessedTaskUs + rows * cell_.plan.flops_per_row / kGuessedFlopsPerUs;
}

Result<double> LoadProbe::time_us(std::uint32_t rows) {
  if (Status ok = run_once(rows); !ok) return tl::unexpected(ok.error());
  if (!measure_) return guess_us(rows);
  const std::uint64_t before = context_->kernel_ns();
  for (int i = 0; i < kRepetitions; ++i) {
    if (Status ok = run_once(rows); !ok) return tl::unexpected(ok.error());
  }
  const double us = static_cast<double>(context_->kernel_ns() - before) / 1e3 / kRepetitions;
  return us > 0 ? us : guess_us(rows);
}

Status LoadProbe::run_once(std::uint32_t rows) {
  Task task;
  task.seq = ++seq_;
  task.type = cell_.type;
  task.rows = task.padded_rows = rows;
  task.bindings.emplace_back();
  task.bindings[0].span = rows;
  const auto taken = context_->take(task);
  if (!taken) return tl::unexpected(taken.error());
  if (Status ok = context_->flush(); !ok) return ok;
  if (Status ok = context_->synchronise(); !ok) return ok;
  if (context_->done() != seq_)
    return fail(ErrorCode::kInternal, "the GPU does not report a task of " + std::to_string(rows) + " rows");
  return {};
}

}  // namespace volvox::gpu
