#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/program/plan_leaves.h"
#include "gpu/program/program_writer.h"

namespace volvox::gpu {

// One pass over the operators of a cell: plan_cell()'s work. Private to program/.
//
// Elementwise operators and slices cost nothing by themselves: they are written into the programs of whatever
// reads them, a slice as an offset. What must lie in memory is what a product, a convolution or an argmax
// reads or makes, what is summed over edges, and a concatenation that is read across a seam.
class CellPlanner {
 public:
  explicit CellPlanner(PlanLeaves& leaves)
      : leaves_(leaves), cell_(leaves.cell()), options_(leaves.options()) {}

  Result<CellPlan> run();

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
  Place buffer(std::int64_t width, ElementType type, bool ragged);

  const Value& value(ValueId id) const { return cell_.values[id]; }
  std::int64_t width(ValueId id) const { return elements(value(id).shape); }

  PlanLeaves& leaves_;
  const Cell& cell_;
  const PlanOptions& options_;
  CellPlan plan_;
  std::vector<Root> roots_;            // of the stage that is being made
  std::map<ValueId, Place> sums_;      // of products and convolutions: without bias or start
  std::map<ValueId, Buffer> buffers_;  // values that lie in scratch
};

}  // namespace volvox::gpu
