#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cells/ops/ops.h"
#include "cells/patterns/lstm.h"
#include "gpu/kernels/fused.h"
#include "gpu/program/cell_plan.h"
#include "gpu/program/program_writer.h"

namespace volvox::gpu {

// One pass over the operators of a cell: plan_cell()'s work. Private to program/.
//
// Elementwise operators and slices cost nothing by themselves: they are written into the programs of whatever
// reads them, a slice as an offset. What must lie in memory is what a product, a convolution or an argmax
// reads or makes, what is summed over edges, and a concatenation that is read across a seam.
class CellPlanner {
 public:
  CellPlanner(const Cell& cell, const Weights& weights, const PlanOptions& options,
              const PlanResources& resources)
      : cell_(cell), weights_(weights), options_(options), resources_(resources) {}

  Result<CellPlan> run();
  // The same cell as a call of the fused kernel; `plan` is what run() made of it.
  Result<std::optional<FusedCall>> fused(const LstmPattern& pattern, CellPlan& plan);

 private:
  // Something that a stage must compute and store.
  struct Root {
    ValueId value;
    Place to;
  };
  struct Buffer {
    Place place;
    std::size_t stage = 0;  // that writes it
  };
  using Number = ProgramWriter::Number;

  Result<FusedCall> fused_call(const LstmPattern& pattern);
  Status apply(const Operator& op);
  Status product(const Operator& op);
  Status convolution(const Operator& op);
  Status argmax(const Operator& op);
  Status add_root(ValueId value, const Place& to);
  Status prepare(ValueId value, std::int64_t offset, std::int64_t width);
  Status prepare_concat(const Operator& op, std::int64_t offset, std::int64_t width);
  Status materialise(ValueId value);
  Status close_stage();
  std::uint32_t registers_of(const Program& program) const;
  Status write_programs(std::span<const Root> roots);
  Result<Number> evaluate(ProgramWriter& writer, ValueId value, std::int64_t offset, std::int64_t width);
  Result<Number> evaluate_new(ProgramWriter& writer, ValueId value, std::int64_t offset, std::int64_t width);
  Result<Number> evaluate_elements(ProgramWriter& writer, const Operator& op, std::int64_t offset,
                                   std::int64_t width);
  Result<Number> evaluate_fold(ProgramWriter& writer, const Operator& op, std::int64_t offset);
  Result<Number> evaluate_concat(ProgramWriter& writer, const Operator& op, std::int64_t offset,
                                 std::int64_t width);
  Result<Number> evaluate_sums(ProgramWriter& writer, const Operator& op, std::int64_t offset,
                               std::int64_t width);
  Result<Place> leaf(const Operator& op, std::int64_t offset);
  Result<Place> table(const Operator& op);
  Result<Place> ids(ValueId value);
  Result<Place> state(const Operator& op, PoolId pool, Place::Kind kind);
  Result<Place> constant(const std::string& weight, const Shape& shape);
  Result<Place> bias_of(const Operator& op);
  Result<Place> keep_vector(const std::string& name, std::span<const std::byte> bytes);
  Result<const Tensor*> weight(const std::string& name, const Shape& shape) const;
  Place buffer(std::int64_t width, ElementType type, bool ragged);

  const Value& value(ValueId id) const { return cell_.values[id]; }
  std::int64_t width(ValueId id) const { return elements(value(id).shape); }
  std::uint16_t number_of(const Place& place);
  tl::unexpected<Error> bad(const std::string& what) const {
    return invalid("cell '" + cell_.name + "': " + what);
  }

  const Cell& cell_;
  const Weights& weights_;
  const PlanOptions& options_;
  const PlanResources& resources_;
  CellPlan plan_;
  std::vector<Root> roots_;            // of the stage that is being made
  std::map<ValueId, Place> sums_;      // of products and convolutions: without bias or start
  std::map<ValueId, Buffer> buffers_;  // values that lie in scratch
  std::map<std::string, Place> constants_;
};

ElementType element_type(DType dtype);

// Whether the operator only reads memory: gather, gather_all, pull, embed.
bool is_leaf(const Operator& op);

}  // namespace volvox::gpu
