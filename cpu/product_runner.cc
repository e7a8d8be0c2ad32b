#include "cpu/product_runner.h"

#include <algorithm>

namespace volvox::cpu {
namespace {

// Heights of the tiles of four groups divide this.
constexpr std::size_t kRowStep = 6;
static_assert(kMaxBlockRows % kRowStep == 0);
// A unit's rows of the operands stay in the second cache while a thread walks along its columns.
constexpr std::size_t kOperandBytes = 768U << 10;
// A thread's weights that stay in its second cache until the next call, whatever their order.
constexpr std::size_t kKeptBytes = 1U << 20;
// Units for each thread that make it cheap to lose one to a preempted thread.
constexpr std::size_t kUnitsPerThread = 4;
constexpr std::size_t kMinRowsPerUnit = 24;
// Guesses that need to be right within a factor of two: what one thread does in a microsecond; and what is
// long.
constexpr double kFlopsPerUs = 150e3;
constexpr double kBytesPerUs = 60e3;
constexpr double kAloneUs = 5.0;
constexpr double kWallClockUs = 20.0;
constexpr double kSpreadUs = 100.0;  // of reading the weights

std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

std::size_t weight_bytes(const PackedProduct& product) {
  return product.blocks() * product.block_bytes();
}

double reading_us(const PackedProduct& product) {
  return static_cast<double>(weight_bytes(product)) / kBytesPerUs;
}

double estimate_us(const PackedProduct& product, std::size_t rows) {
  const double flops = product.flops_per_row() * static_cast<double>(rows);
  return std::max(flops / kFlopsPerUs, reading_us(product));
}

// Columns [first, last) of one owner.
struct Columns {
  std::size_t first = 0, last = 0;

  std::size_t count() const { return last - first; }
  // What sweep `sweep` over them meets as its `step`-th: forwards and backwards in turn.
  std::size_t at(std::size_t sweep, std::size_t step) const {
    return sweep % 2 == 0 ? first + step : last - 1 - step;
  }
};

Columns columns_of(std::size_t owner, std::size_t owners, std::size_t columns) {
  return {columns * owner / owners, columns * (owner + 1) / owners};
}

}  // namespace

ProductPlan plan_product(const PackedProduct& product, std::size_t rows, std::uint32_t threads) {
  ProductPlan plan;
  plan.alone = threads == 1 || estimate_us(product, rows) < kAloneUs;
  const std::size_t row_bytes = std::max<std::size_t>(product.width() * sizeof(float), 1);
  std::size_t most = std::clamp(kOperandBytes / row_bytes, kMinRowsPerUnit, kMaxBlockRows);
  if (!plan.alone) {
    const std::size_t wanted_blocks = ceil_div(kUnitsPerThread * threads, product.blocks());
    most = std::min(most, std::max(kMinRowsPerUnit, ceil_div(rows, wanted_blocks)));
  }
  const std::size_t blocks = std::max<std::size_t>(ceil_div(rows, most), 1);
  plan.rows_per_unit = ceil_div(ceil_div(rows, blocks), kRowStep) * kRowStep;
  plan.row_blocks = ceil_div(rows, plan.rows_per_unit);
  return plan;
}

struct ProductRunner::Job {
  const ProductRunner* runner;
  const ProductCall* call;
  ProductPlan plan;
  std::size_t owners;
  std::size_t sweep;  // that the first block of rows is
};

Result<ProductRunner> ProductRunner::make(std::uint32_t threads) {
  ProductRunner runner;
  runner.counts_.resize(std::max(threads, 1U));
  for (std::size_t t = 0; t < runner.counts_.size(); ++t) {
    auto scratch = AlignedBuffer::make(kMaxBlockRows * kMaxGroups * kMaxLanes * sizeof(float));
    if (!scratch) return tl::unexpected(scratch.error());
    runner.scratch_.push_back(std::move(*scratch));
  }
  return runner;
}

void ProductRunner::run(ThreadTeam& team, const ProductCall& call) {
  if (call.rows == 0) return;
  const auto threads = static_cast<std::uint32_t>(counts_.size());
  const Job job{this, &call, plan_product(*call.product, call.rows, threads), threads, sweeps_};
  if (weight_bytes(*call.product) > kKeptBytes * threads) sweeps_ += job.plan.row_blocks;
  for (std::size_t owner = 0; owner < threads; ++owner) {
    const Columns columns = columns_of(owner, threads, call.product->blocks());
    counts_[owner] = static_cast<std::uint32_t>(columns.count() * job.plan.row_blocks);
  }
  const bool is_short = estimate_us(*call.product, call.rows) < kWallClockUs;
  const TeamJob team_job{run_unit, &job, is_short ? BusyClock::kWall : BusyClock::kCpu,
                         reading_us(*call.product) >= kSpreadUs};
  if (job.plan.alone) {
    team.run_alone(team_job, counts_);
  } else {
    team.run(team_job, counts_);
  }
}

void ProductRunner::run_unit(const void* context, std::uint32_t owner, std::uint32_t unit,
                             std::uint32_t thread) {
  const Job& job = *static_cast<const Job*>(context);
  const ProductCall& call = *job.call;
  const Columns columns = columns_of(owner, job.owners, call.product->blocks());
  // Rows outside, columns inside: the next unit of this owner reads the next block.
  const auto block = [&](std::uint32_t index) {
    const std::size_t row_block = index / columns.count();
    return call.product->block(columns.at(job.sweep + row_block, index % columns.count()));
  };
  ProductBlock p = block(unit);
  p.terms = call.terms;
  p.term_count = call.term_count;
  p.start = call.start;
  p.row_begin = unit / columns.count() * job.plan.rows_per_unit;
  p.row_end = std::min(p.row_begin + job.plan.rows_per_unit, call.rows);
  p.scratch = job.runner->scratch_[thread].f32();
  if (unit + 1 < columns.count() * job.plan.row_blocks) {
    const ProductBlock next = block(unit + 1);
    p.upcoming = next.weights;
    p.upcoming_column = next.column;
  }
  std::copy(std::begin(call.in), std::end(call.in), std::begin(p.in));
  std::copy(std::begin(call.out), std::end(call.out), std::begin(p.out));
  call.kernel(p);
}

}  // namespace volvox::cpu
