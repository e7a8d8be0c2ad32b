#include "device/interpreted_cell.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "cells/ir/evaluate.h"
#include "cells/ir/product_terms.h"
#include "cells/ops/ops.h"
#include "device/host_memory.h"

namespace volvox {
namespace {

double width(const Cell& cell, ValueId id) {
  return static_cast<double>(elements(cell.values[id].shape));
}

std::size_t value_bytes(const Cell& cell, ValueId id) {
  const Value& value = cell.values[id];
  return static_cast<std::size_t>(elements(value.shape)) * size_bytes(value.dtype);
}

double product_flops(const Cell& cell, const Operator& op) {
  const auto stretch = static_cast<double>(cell.values[op.output].shape.back());
  double flops = 0;
  for (std::size_t i = 0; i < product_term_count(op); ++i) flops += 2.0 * stretch * width(cell, op.inputs[i]);
  return flops;
}

}  // namespace

Result<std::unique_ptr<const InterpretedCell>> InterpretedCell::make(const Cell& cell, const Weights& weights,
                                                                     const CompileOptions& options,
                                                                     const FindPool& pools) {
  auto made = std::make_unique<InterpretedCell>();
  made->weights_ = weights;
  auto program = CellProgram::make(cell, made->weights_);
  if (!program) return tl::unexpected(program.error());
  made->program_ = std::move(*program);
  made->options_ = options;
  made->shape_ = row_shape(made->program_.cell());
  for (const Operator& op : made->program_.cell().operators) {
    if (Status ok = made->bind(op, pools); !ok) return tl::unexpected(ok.error());
    made->measure(op);
  }
  return made;
}

Status InterpretedCell::bind(const Operator& op, const FindPool& pools) {
  const bool gather = op.is(kGatherOp), ragged = op.is(kGatherAllOp);
  if (!gather && !ragged && !op.is(kScatterOp)) return {};
  const PoolId pool = gather   ? options_.gather_pools[op.index]
                      : ragged ? options_.ragged_pool
                               : options_.out_pool;
  const std::string name = "cell '" + program_.cell().name + "': ";
  const Planes* planes = pools(pool);
  if (planes == nullptr) return invalid(name + "there is no pool " + std::to_string(pool));
  const auto number = planes->find(op.name);
  if (!number) return invalid(name + "pool " + std::to_string(pool) + " has no state '" + op.name + "'");
  const Plane* plane = &(*planes)[*number];
  if (gather) gathers_.push_back({plane, op.index});
  if (ragged) ragged_.push_back({plane, 0});
  if (op.is(kScatterOp)) scatters_.push_back(plane);
  return {};
}

void InterpretedCell::measure(const Operator& op) {
  const Cell& cell = program_.cell();
  const bool multiplies = op.is(kProductOp) || op.is(kLinearOp);
  const bool slow = op.is(kEmbedOp) || op.is(kConvolutionOp);
  cheap_ = cheap_ && !multiplies && !slow;
  if (multiplies) flops_per_row_ += product_flops(cell, op);
  if (op.is(kConvolutionOp)) flops_per_row_ += op.convolution.flops();
  if (op.is(kPullOp)) pull_bytes_[op.index] = value_bytes(cell, op.output);
  if (op.is(kPushOp)) push_bytes_[op.index] = value_bytes(cell, op.inputs.front());
}

// Turns the slots and addresses of one row into pointers. Results go to a buffer first: a row may have none,
// one or two places for each.
class InterpretedCell::Places {
 public:
  explicit Places(const InterpretedCell& cell, const ResolvedRows& rows)
      : cell_(cell),
        rows_(rows),
        zeros_(*std::max_element(cell.pull_bytes_.begin(), cell.pull_bytes_.end())),
        gathers_(cell.gathers_.size()),
        scatters_(cell.scatters_.size()) {
    for (std::uint32_t p = 0; p < cell.shape_.pushes; ++p)
      results_[p].resize(cell.push_bytes_[p] * rows.rows);
  }

  CellRow of(std::uint32_t r) {
    CellRow row;
    for (std::size_t i = 0; i < gathers_.size(); ++i) {
      const Gather& gather = cell_.gathers_[i];
      gathers_[i] = gather.plane->row(rows_.gathers[gather.index][r]);
    }
    for (std::size_t i = 0; i < scatters_.size(); ++i) scatters_[i] = cell_.scatters_[i]->row(rows_.out[r]);
    for (std::uint32_t p = 0; p < cell_.shape_.pulls; ++p) {
      const DeviceAddress address = rows_.pulls[p][r];
      row.pulls[p] = address == 0 ? zeros_.data() : at_address(address);
    }
    for (std::uint32_t p = 0; p < cell_.shape_.pushes; ++p) {
      row.pushes[p] = results_[p].data() + r * cell_.push_bytes_[p];
    }
    if (cell_.shape_.ragged) place_ragged(row, r);
    row.gathers = gathers_;
    row.scatters = scatters_;
    return row;
  }

  void deliver() const {
    for (std::uint32_t p = 0; p < cell_.shape_.pushes; ++p) {
      const std::size_t bytes = cell_.push_bytes_[p];
      for (const auto& push : rows_.pushes[p]) {
        std::memcpy(at_address(push.address), results_[p].data() + push.row * bytes, bytes);
      }
    }
  }

 private:
  void place_ragged(CellRow& row, std::uint32_t r) {
    row.edges = rows_.ragged_begin[r + 1] - rows_.ragged_begin[r];
    ragged_.clear();
    for (const Gather& gather : cell_.ragged_) {
      for (std::uint32_t e = 0; e < row.edges; ++e) {
        ragged_.push_back(gather.plane->row(rows_.ragged_slots[rows_.ragged_begin[r] + e]));
      }
    }
    row.ragged = ragged_;
  }

  const InterpretedCell& cell_;
  const ResolvedRows& rows_;
  std::vector<std::byte> zeros_;
  std::vector<const void*> gathers_, ragged_;
  std::vector<void*> scatters_;
  std::array<std::vector<std::byte>, kMaxPushes> results_;
};

void InterpretedCell::evaluate(const ResolvedRows& rows) const {
  CellEvaluator<float> evaluator(program_);
  Places places(*this, rows);
  for (std::uint32_t r = 0; r < rows.rows; ++r) evaluator.run(places.of(r));
  places.deliver();
}

}  // namespace volvox
