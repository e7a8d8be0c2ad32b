#include "cpu/cells/generic_cell.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "cells/ops/ops.h"
#include "cells/patterns/matcher.h"
#include "cpu/cells/cache_line.h"
#include "cpu/cells/generic_chunk.h"
#include "cpu/cells/packing.h"
#include "cpu/cells/stages.h"
#include "cpu/cells/turned_values.h"
#include "cpu/cells/value_places.h"

namespace volvox::cpu {
namespace {

// What one chunk's values may take of a thread's second cache, beside the weights that it reads.
constexpr std::size_t kChunkBytes = 256U << 10;
constexpr std::size_t kMinChunkRows = 12;  // fewer read the weights too often
constexpr std::size_t kMaxChunkRows = 1024;
// At most so many: one that is lost to a preempted thread is made up for by the others.
constexpr std::size_t kChunksPerThread = 4;
// Of weights that stay in it while all rows go through a stage.
constexpr std::size_t kStageBytes = 768U << 10;
// What a thread's rows hand from one stage to the next: more leaves that cache, and is memory that nothing
// else has.
constexpr std::size_t kCrossingBytes = 256U << 10;
// Weights that stay in a core's own cache (1 to 2 MiB on today's machines) cost little to read again.
constexpr std::size_t kWideBytes = 2U << 20;
// Guesses, right within a factor of two or so: an operator's row, an element, a floating-point operation.
constexpr double kOpUs = 3e-3;
constexpr double kElementUs = 1e-3;
constexpr double kFlopUs = 1 / 120e3;
constexpr double kAloneUs = 10.0;
constexpr double kWallClockUs = 20.0;

bool views(const Cell& cell, const Operator& op) {
  return op.is(kGatherOp) || op.is(kGatherAllOp) || op.is(kPullOp) || GenericChunk::is_one_row(cell, op) ||
         op.is(kSliceOp) || op.is(kReshapeOp) || op.is(kConstantOp);
}

bool multiplies(const Operator& op) {
  return op.is(kProductOp) || op.is(kLinearOp);
}

std::size_t bytes_of_weights(const GenericOp& op) {
  std::size_t bytes = op.product != nullptr ? op.product->bytes() : 0;
  if (op.convolution != nullptr) {
    for (const PackedProduct& product : op.convolution->products) bytes += product.bytes();
  }
  return bytes;
}

Status check_operands(const Cell& cell, const Operator& op) {
  const auto bad = [&](const char* what) { return invalid("cell '" + cell.name + "': " + what); };
  for (ValueId value : op.inputs) {
    if (op.output == kNoValue) {
      if (cell.values[value].ragged) return bad("a ragged value cannot be published");
    } else if (cell.values[value].ragged && !cell.values[op.output].ragged && !op.def->folds) {
      return bad("an operator turns a ragged value into one row");
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<CpuCell>> GenericCell::make(const Cell& cell, const Weights& weights,
                                                   const CompileOptions& options, PoolFinder& pools,
                                                   const Kernels& kernels) {
  std::unique_ptr<GenericCell> made(new GenericCell(cell, kernels));
  const WeighedSums weighed = find_weighed_sums(cell);
  made->describe_values(cell, weighed);
  std::size_t largest = 1;
  for (const GenericValue& value : made->values_) largest = std::max(largest, value.row_bytes);
  auto zeros = AlignedBuffer::make(largest);
  if (!zeros) return tl::unexpected(zeros.error());
  made->zeros_ = std::move(*zeros);
  for (const Operator& op : cell.operators) {
    if (weighed.contains(op.output)) continue;
    Operator run = op;
    if (op.is(kSegmentSumOp)) {
      const auto found = weighed.find(op.inputs.front());
      if (found != weighed.end()) run.inputs = {found->second.scales, found->second.x};
    }
    if (Status ok = made->add_operator(cell, run, weights, options, pools); !ok)
      return tl::unexpected(ok.error());
  }
  made->gather_operators();
  made->cut_into_stages();
  return made;
}

void GenericCell::describe_values(const Cell& cell, const WeighedSums& weighed) {
  const std::vector<ValueLayout> layouts = find_turned(cell);
  for (const Value& value : cell.values) {
    GenericValue v;
    v.layout = layouts[values_.size()];
    v.elements = static_cast<std::size_t>(elements(value.shape));
    v.row_bytes = v.elements * size_bytes(value.dtype);
    v.ragged = value.ragged;
    values_.push_back(v);
  }
  for (const Operator& op : cell.operators) {
    row_us_ += kOpUs;
    for (const ValueId input : op.inputs) {
      if (op.def->folds && values_[input].ragged)
        edge_us_ += kElementUs * static_cast<double>(values_[input].elements);
    }
    if (op.output == kNoValue || views(cell, op) || weighed.contains(op.output)) continue;
    GenericValue& v = values_[op.output];
    const std::size_t floats = v.row_bytes / sizeof(float);
    v.stride = floats <= GenericValue::kScalarStride ? GenericValue::kScalarStride : whole_lines(floats);
    (v.ragged ? edge_us_ : row_us_) += kElementUs * static_cast<double>(v.elements);
  }
}

void GenericCell::gather_operators() {
  const auto single = [this](const GenericOp& op) { return GenericChunk::is_of_single_rows(op, values_); };
  for (auto first = ops_.begin(); first != ops_.end();) {
    const auto last = std::find_if_not(first, ops_.end(), single);
    if (last != first) first->together = static_cast<std::size_t>(last - first);
    first = last == first ? std::next(first) : last;
  }
}

GenericCell::Lives GenericCell::find_lives() const {
  Lives lives{std::vector<ValueLife>(values_.size()), std::vector<ValueLife>(values_.size())};
  // Of a view: what it is a part of, or is looked up by. Whoever reads the one needs the other.
  std::vector<ValueId> lies_in(values_.size());
  std::iota(lies_in.begin(), lies_in.end(), ValueId{0});
  for (std::size_t first = 0; first < ops_.size(); first += ops_[first].together) {
    for (std::size_t i = first; i < first + ops_[first].together; ++i) {
      const Operator& op = ops_[i].op;
      for (const ValueId input : op.inputs) {
        lives.by_group[lies_in[input]].to = first;
        lives.by_operator[lies_in[input]].to = i;
      }
      if (op.output == kNoValue) continue;
      if (values_[op.output].stride == 0 && !op.inputs.empty())
        lies_in[op.output] = lies_in[op.inputs.front()];
      lives.by_group[op.output] = {values_[op.output].stride, first, first};
      lives.by_operator[op.output] = {values_[op.output].stride, i, i};
    }
  }
  return lives;
}

// Those with ragged values, whose edges would cross as well, are one stage.
std::vector<std::size_t> GenericCell::begins_of_stages(const Lives& lives) const {
  const bool ragged = std::any_of(values_.begin(), values_.end(), [](const auto& v) { return v.ragged; });
  if (wide_ || ragged) return {0};
  std::vector<std::size_t> weights, crossing(ops_.size() + 1);
  for (const GenericOp& op : ops_) weights.push_back(bytes_of_weights(op));
  // What begins to cross behind an operator, less what ends to.
  for (const ValueLife& life : lives.by_group) {
    crossing[std::min(life.from + 1, ops_.size())] += life.floats;
    crossing[std::min(life.to + 1, ops_.size())] -= life.floats;
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  for (std::size_t first = 0; first < ops_.size(); first += ops_[first].together)
    std::fill_n(crossing.begin() + static_cast<std::ptrdiff_t>(first) + 1, ops_[first].together - 1, kNoCut);
  return cut_stages(weights, std::span(crossing).first(ops_.size()), kStageBytes);
}

void GenericCell::cut_into_stages() {
  const Lives lives = find_lives();
  const std::vector<std::size_t> begins = begins_of_stages(lives);
  const auto stage_of = [&](std::size_t op) { return std::upper_bound(begins.begin(), begins.end(), op); };
  for (std::size_t first = 0; first < ops_.size(); first += ops_[first].together) {
    for (std::size_t i = first; i < first + ops_[first].together; ++i) {
      if (ops_[i].op.output == kNoValue) continue;
      GenericValue& value = values_[ops_[i].op.output];
      const ValueLife& life = lives.by_group[ops_[i].op.output];
      if (value.stride == 0) continue;
      value.passes = ops_[first].together > 1 && life.to == life.from;
      value.crosses = stage_of(life.from) != stage_of(life.to);
      if (value.crosses) value.place = std::exchange(crossing_, crossing_ + whole_lines(value.stride));
    }
  }
  for (std::size_t s = 0; s < begins.size(); ++s) {
    const std::size_t end = s + 1 < begins.size() ? begins[s + 1] : ops_.size();
    GenericStage& stage = stages_.emplace_back();
    stage.ops = std::span(ops_).subspan(begins[s], end - begins[s]);
    read_across(stage, begins[s]);
    place_values(stage, lives);
  }
  for (GenericValue& value : values_) {
    if (value.passes) value.stride = 0;
  }
}

// What operators of a stage read of those before the first-th, and what these read in turn.
void GenericCell::read_across(GenericStage& stage, std::size_t first) {
  std::vector<bool> read(values_.size());
  for (const GenericOp& op : stage.ops) {
    for (const ValueId input : op.op.inputs) read[input] = true;
  }
  for (std::size_t i = first; i-- > 0;) {
    const Operator& op = ops_[i].op;
    if (op.output == kNoValue || !read[op.output]) continue;
    if (values_[op.output].stride != 0) {
      stage.inputs.push_back(op.output);
      continue;
    }
    for (const ValueId input : op.inputs) read[input] = true;
    stage.views.push_back(ops_[i]);
  }
  std::reverse(stage.views.begin(), stage.views.end());
}

void GenericCell::place_values(GenericStage& stage, const Lives& lives) {
  for (const GenericOp& op : stage.ops) {
    if (op.op.output == kNoValue || values_[op.op.output].stride == 0) continue;
    (values_[op.op.output].crosses ? stage.outputs : stage.values).push_back(op.op.output);
  }
  const auto place = [&](const std::vector<ValueLife>& all, auto is_it) {
    std::vector<ValueLife> kind;
    for (const ValueId v : stage.values) {
      kind.push_back(all[v]);
      if (!is_it(values_[v])) kind.back().floats = 0;
      if (values_[v].passes) kind.back().floats = whole_lines(kind.back().floats);
    }
    const ValuePlaces places = cpu::place_values(kind);
    for (std::size_t i = 0; i < kind.size(); ++i) {
      if (kind[i].floats != 0) values_[stage.values[i]].place = places.at[i];
    }
    return places.floats;
  };
  stage.room.passing = place(lives.by_operator, [](const GenericValue& v) { return v.passes; });
  for (const bool ragged : {false, true}) {
    for (const bool scalar : {false, true}) {
      ValueRoom& room = ragged ? stage.room.edges : stage.room.rows;
      (scalar ? room.scalars : room.vectors) = place(lives.by_group, [&](const GenericValue& v) {
        return !v.passes && v.ragged == ragged && v.is_scalar() == scalar;
      });
    }
  }
}

// One that was packed before, to be run so, of the same weights: a cell that goes round several times has
// them once.
const GenericOp* GenericCell::find_alike(const GenericOp& made) const {
  const Operator& op = made.op;
  const auto found = std::find_if(ops_.begin(), ops_.end(), [&](const GenericOp& other) {
    return other.run == made.run && other.op.is(*op.def) && other.op.weights == op.weights &&
           other.op.has_bias == op.has_bias;
  });
  return found == ops_.end() ? nullptr : &*found;
}

Status GenericCell::add_operator(const Cell& cell, const Operator& op, const Weights& weights,
                                 const CompileOptions& options, PoolFinder& pools) {
  if (Status ok = check_operands(cell, op); !ok) return ok;
  GenericOp made;
  made.op = op;
  made.run = GenericChunk::run_of(cell, op);
  made.pointwise = pointwise_kernel(*kernels_, *op.def);
  if (op.is(kGatherOp) || op.is(kGatherAllOp) || op.is(kScatterOp)) {
    auto plane = find_plane(cell, op, options, pools);
    if (!plane) return tl::unexpected(plane.error());
    made.plane = *plane;
  } else if (GenericChunk::is_one_row(cell, op)) {
    if (const GenericOp* same = find_alike(made)) {
      made.table = same->table;
    } else {
      auto table = find_table(cell, op, weights);
      if (!table) return tl::unexpected(table.error());
      made.table = std::make_shared<EmbeddingTable>(std::move(*table));
    }
  } else if (multiplies(op)) {
    if (const GenericOp* same = find_alike(made)) {
      made.product = same->product;
    } else {
      auto packed = pack_product(cell, op, weights, kPlain, kernels_->lanes);
      if (!packed) return tl::unexpected(packed.error());
      packed_bytes_ += packed->bytes();
      made.product = std::make_shared<const PackedProduct>(std::move(*packed));
    }
    const PackedProduct* product = made.product.get();
    const Shape& shape = cell.values[op.output].shape;
    made.stretches = static_cast<std::size_t>(elements(shape) / shape.back());
    stretches_ = std::max(stretches_, made.stretches);
    const double flops = product->flops_per_row() * static_cast<double>(made.stretches);
    flops_ += flops;
    (cell.values[op.output].ragged ? edge_us_ : row_us_) += kFlopUs * flops;
    made.wide = product->blocks() * product->block_bytes() >= kWideBytes && !cell.values[op.output].ragged;
    wide_ = wide_ || made.wide;
    made.terms = product_terms(op);
    made.starts = product_start(op) != kNoValue;
  }
  if (GenericChunk::is_interpreted(made)) {
    if (interpreted_ == nullptr) interpreted_ = std::make_shared<const Cell>(cell);
    made.cell = interpreted_;
    for (const std::string& name : op.weights) {
      const Tensor* tensor = weights.find(name);  // inference has seen that it is there, and f32
      if (made.weight_rows == 0 && !tensor->shape.empty()) made.weight_rows = tensor->shape[0];
      made.weights.push_back(tensor->f32());
    }
  }
  if (op.is(kConstantOp)) {
    auto numbers = copy_constant(cell, op, weights);
    if (!numbers) return tl::unexpected(numbers.error());
    made.constant = std::make_shared<AlignedBuffer>(std::move(*numbers));
  }
  if (op.is(kConvolutionOp)) {
    auto packed = pack_convolution(cell, op, weights, kernels_->lanes);
    if (!packed) return tl::unexpected(packed.error());
    for (const PackedProduct& product : packed->products) {
      const double flops = product.flops_per_row() * static_cast<double>(op.convolution.positions());
      packed_bytes_ += product.bytes();
      flops_ += flops;
      row_us_ += kFlopUs * flops;
    }
    made.turned = {values_[op.inputs.front()].layout.is_turned(), values_[op.output].layout.is_turned()};
    room_.include(op.convolution, packed->mirror, made.turned);
    made.convolution = std::make_shared<const PackedConvolution>(std::move(*packed));
  }
  ops_.push_back(std::move(made));
  return {};
}

struct GenericCell::Job {
  const GenericCell* cell;
  std::span<const GenericStage> stages;
  const ResolvedRows* rows;
  Workspace* work;
  RowRange range;  // that goes through the stages
  std::size_t chunk;
  std::size_t edges;  // the most of a chunk
  std::size_t chunks;
  std::size_t owners;
};

Status GenericCell::run(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const {
  if (rows.real_rows == 0) return {};
  if (Status ok = check_slots(rows); !ok) return ok;
  if (wide_) return run_wide(rows, work, team);
  const std::size_t edges = most_edges(rows, rows.real_rows);
  const double estimate_us = row_us_ * rows.real_rows + edge_us_ * static_cast<double>(edges);
  const std::uint32_t threads = estimate_us < kAloneUs ? 1 : team.size();
  const std::span<const GenericStage> stages(stages_);
  // Of so few rows that each thread has one chunk all weights are read once, whatever goes first.
  const std::size_t chunk = chunk_rows(stages, rows.real_rows, edges, threads);
  const bool together = stages.size() == 1 || rows.real_rows <= threads * chunk;
  const std::size_t most = together ? rows.real_rows : rows_between_stages(chunk, threads);
  const std::size_t turns = (rows.real_rows + most - 1) / most;
  const std::size_t at_once = (rows.real_rows + turns - 1) / turns;
  if (Status ok = work.crossing.grow(at_once * crossing_ * sizeof(float)); !ok) return ok;
  if (together) return run_stages(stages, rows, {0, rows.real_rows}, work, team, estimate_us);
  for (std::size_t first = 0; first < rows.real_rows; first += at_once) {
    const RowRange range{first, std::min<std::size_t>(first + at_once, rows.real_rows)};
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (Status ok = run_stages(stages.subspan(s, 1), rows, range, work, team, estimate_us); !ok) return ok;
    }
  }
  return {};
}

Status GenericCell::run_stages(std::span<const GenericStage> stages, const ResolvedRows& rows, RowRange range,
                               Workspace& work, ThreadTeam& team, double estimate_us) const {
  const bool alone = estimate_us < kAloneUs;
  // With edges, the range is all rows: such a cell has one stage.
  const std::size_t n = range.last - range.first;
  const std::size_t chunk = chunk_rows(stages, n, most_edges(rows, rows.real_rows), alone ? 1 : team.size());
  const std::size_t edges = most_edges(rows, chunk);
  const Job job{this, stages, &rows, &work, range, chunk, edges, (n + chunk - 1) / chunk, team.size()};
  for (std::uint32_t t = 0; t < (alone ? 1 : team.size()); ++t) {
    if (work.generic.size() <= t) work.generic.push_back(std::make_unique<GenericScratch>());
    for (const GenericStage& stage : stages) {
      if (Status ok = work.generic[t]->prepare(values_, stage.room, chunk, edges, stretches_, room_); !ok)
        return ok;
    }
  }
  work.counts.resize(team.size());
  for (std::size_t o = 0; o < job.owners; ++o) {
    work.counts[o] =
        static_cast<std::uint32_t>(job.chunks * (o + 1) / job.owners - job.chunks * o / job.owners);
  }
  const TeamJob team_job{run_chunk, &job, estimate_us < kWallClockUs ? BusyClock::kWall : BusyClock::kCpu};
  alone ? team.run_alone(team_job, work.counts) : team.run(team_job, work.counts);
  return {};
}

// Operators in a row that are not wide, for all rows.
struct GenericCell::Narrow {
  GenericChunk* chunk;
  const GenericOp* first;
  const GenericOp* last;
};

Status GenericCell::run_wide(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const {
  if (work.generic.empty()) work.generic.push_back(std::make_unique<GenericScratch>());
  GenericScratch& scratch = *work.generic[0];
  const std::size_t edges = most_edges(rows, rows.real_rows);
  const GenericRoom& room = stages_.front().room;
  if (Status ok = scratch.prepare(values_, room, rows.real_rows, edges, stretches_, room_); !ok) return ok;
  scratch.point_at_values(values_, stages_.front().values, room, rows.real_rows, edges);
  GenericChunk chunk(*kernels_, values_, zeros_.f32(), rows, 0, rows.real_rows, scratch);
  work.counts.assign(team.size(), 0);
  work.counts[0] = 1;
  const GenericOp* const end = ops_.data() + ops_.size();
  for (const GenericOp* op = ops_.data(); op != end;) {
    if (op->wide) {
      std::array<ProductTerm, kMaxTerms> terms;
      work.runner.run(team, chunk.call(*op++, terms));
      continue;
    }
    const GenericOp* next = std::find_if(op, end, [](const GenericOp& other) { return other.wide; });
    const Narrow narrow{&chunk, std::exchange(op, next), next};
    team.run_alone({run_narrow, &narrow, BusyClock::kCpu}, work.counts);
  }
  return {};
}

void GenericCell::run_narrow(const void* context, std::uint32_t, std::uint32_t, std::uint32_t) {
  const Narrow& narrow = *static_cast<const Narrow*>(context);
  narrow.chunk->run({narrow.first, narrow.last});
}

void GenericCell::run_chunk(const void* context, std::uint32_t owner, std::uint32_t unit,
                            std::uint32_t thread) {
  const Job& job = *static_cast<const Job*>(context);
  const GenericCell& cell = *job.cell;
  const std::size_t begin = job.range.first + (job.chunks * owner / job.owners + unit) * job.chunk;
  const std::size_t end = std::min(begin + job.chunk, job.range.last);
  GenericScratch& scratch = *job.work->generic[thread];
  for (const GenericStage& stage : job.stages) {
    scratch.point_at_values(cell.values_, stage.values, stage.room, job.chunk, job.edges);
    for (const auto* which : {&stage.inputs, &stage.outputs}) {
      scratch.point_at_crossing(cell.values_, *which, job.work->crossing.f32(),
                                job.range.last - job.range.first, begin - job.range.first);
    }
    GenericChunk chunk(*cell.kernels_, cell.values_, cell.zeros_.f32(), *job.rows, begin, end, scratch);
    chunk.begin_stage(stage.views, stage.inputs);
    chunk.run(stage.ops);
  }
}

// How many rows of a task go through all stages before others do; no fewer than a chunk for each thread.
std::size_t GenericCell::rows_between_stages(std::size_t chunk, std::uint32_t threads) const {
  const std::size_t row_bytes = std::max<std::size_t>(crossing_, 1) * sizeof(float);
  return threads * std::max(chunk, kCrossingBytes / row_bytes);
}

// As if each row had as many edges as the others.
std::size_t GenericCell::chunk_rows(std::span<const GenericStage> stages, std::size_t rows, std::size_t edges,
                                    std::uint32_t threads) {
  std::size_t floats = 0;
  for (const GenericStage& stage : stages)
    floats = std::max(floats, stage.room.rows.floats(rows) + stage.room.edges.floats(edges));
  const std::size_t row_bytes = (kLineFloats + floats / rows) * sizeof(float);
  const std::size_t least = std::max<std::size_t>(kMinChunkRows * rows / (rows + edges), 1);
  std::size_t chunk = std::clamp(kChunkBytes / row_bytes, least, kMaxChunkRows);
  if (threads > 1) {
    const std::size_t each = std::clamp<std::size_t>(rows / (threads * least), 1, kChunksPerThread);
    chunk = std::min(chunk, (rows + threads * each - 1) / (threads * each));
  }
  return std::max<std::size_t>(chunk, 1);
}

Status GenericCell::check_slots(const ResolvedRows& rows) const {
  const auto inside = [](const std::uint32_t* slots, std::size_t n, const PlaneView& plane) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, slots[i]);
    return n == 0 || largest < plane.slots;
  };
  for (const GenericOp& op : ops_) {
    bool ok = true;
    if (op.op.is(kGatherOp)) ok = inside(rows.gathers[op.op.index].data(), rows.real_rows, op.plane);
    if (op.op.is(kGatherAllOp)) ok = inside(rows.ragged_slots.data(), rows.ragged_slots.size(), op.plane);
    if (op.op.is(kScatterOp)) ok = inside(rows.out.data(), rows.real_rows, op.plane);
    if (!ok) return fail(ErrorCode::kInternal, "a row names a slot that is not in its pool");
  }
  return {};
}

std::size_t GenericCell::most_edges(const ResolvedRows& rows, std::size_t chunk) {
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < rows.real_rows && !rows.ragged_begin.empty(); begin += chunk) {
    const std::size_t end = std::min<std::size_t>(begin + chunk, rows.real_rows);
    most = std::max<std::size_t>(most, rows.ragged_begin[end] - rows.ragged_begin[begin]);
  }
  return most;
}

}  // namespace volvox::cpu
