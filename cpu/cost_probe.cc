#include "cpu/cost_probe.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace volvox::cpu {
namespace {

using Clock = std::chrono::steady_clock;
using Cost = CompiledCell::Cost;

constexpr int kRepetitions = 5;
constexpr double kMaxUs = 30e3;  // of one run that is expected
constexpr double kEstimatedFlopsPerUs = 100e3;

std::vector<std::uint32_t> probed_sizes(std::uint32_t max_batch) {
  std::vector<std::uint32_t> sizes;
  for (std::uint64_t rows = 1; rows < max_batch; rows *= 2) sizes.push_back(static_cast<std::uint32_t>(rows));
  sizes.push_back(std::max(max_batch, 1U));
  return sizes;
}

// Slots of a pool past the reserved ones, or only the sink when there are no others.
std::uint32_t slot_in(const Planes* pool, std::uint32_t row) {
  if (pool == nullptr || pool->slots() <= kReservedSlots) return kSinkSlot;
  return kReservedSlots + row % (pool->slots() - kReservedSlots);
}

// Rows that read the initial state and zeros, and each write a slot of their own.
ResolvedRows make_rows(const CpuCell& cell, std::uint32_t rows, const Planes* out_pool) {
  ResolvedRows made;
  made.rows = made.real_rows = rows;
  for (std::uint32_t g = 0; g < cell.shape().gathers; ++g) made.gathers[g].assign(rows, kInitialSlot);
  for (std::uint32_t p = 0; p < cell.shape().pulls; ++p) made.pulls[p].assign(rows, 0);
  if (cell.shape().ragged) {
    made.ragged_slots.assign(rows, kInitialSlot);
    for (std::uint32_t r = 0; r <= rows; ++r) made.ragged_begin.push_back(r);
  }
  for (std::uint32_t r = 0; r < rows; ++r) made.out.push_back(slot_in(out_pool, r));
  return made;
}

}  // namespace

double CostProbe::estimate_us(const CpuCell& cell, std::uint32_t rows) const {
  return 0.5 + rows * (0.02 + cell.flops_per_row() / kEstimatedFlopsPerUs / threads_);
}

Result<std::vector<Cost>> CostProbe::costs(const CpuCell& cell, const CompileOptions& options,
                                           PoolFinder& pools) const {
  std::vector<Cost> costs;
  auto runner = ProductRunner::make(threads_);
  if (!runner) return tl::unexpected(runner.error());
  ThreadTeam team(measure_ ? threads_ : 1);
  Workspace work(std::move(*runner));
  const Planes* out_pool = pools.find_pool(options.out_pool);
  const bool writes = out_pool != nullptr && out_pool->size() > 0;
  const std::uint32_t free_slots = writes ? std::max(out_pool->slots(), 3U) - kReservedSlots : ~0U;
  for (std::uint32_t rows : probed_sizes(options.max_batch)) {
    const bool slow = !costs.empty() && costs.back().us * rows / costs.back().rows > kMaxUs;
    const bool shared = rows > free_slots;  // two rows would write one slot at once
    if (!measure_ || slow || shared) {
      costs.push_back({rows, costs.empty() || !measure_ ? estimate_us(cell, rows)
                                                        : costs.back().us * rows / costs.back().rows});
      continue;
    }
    const ResolvedRows made = make_rows(cell, rows, out_pool);
    double best = 1e30;
    for (int i = 0; i < kRepetitions; ++i) {
      const auto begin = Clock::now();
      if (Status ok = cell.run(made, work, team); !ok) return tl::unexpected(ok.error());
      best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    costs.push_back({rows, best});
  }
  return costs;
}

}  // namespace volvox::cpu
