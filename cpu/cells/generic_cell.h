#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/cells/cpu_cell.h"
#include "cpu/cells/generic_scratch.h"
#include "cpu/cells/packing.h"
#include "cpu/cells/row_source.h"
#include "cpu/cells/value_places.h"
#include "cpu/cells/weighed_sums.h"
#include "cpu/kernel/kernels.h"
#include "cpu/packed_product.h"

namespace volvox::cpu {

class GenericChunk;

// An operator with everything it needs at run time.
struct GenericOp {
  using Run = void (GenericChunk::*)(const GenericOp& op);

  Operator op;
  Run run = nullptr;                                     // see GenericChunk::run_of()
  PlaneView plane;                                       // gather, gather_all, scatter
  std::shared_ptr<const EmbeddingTable> table;           // embed
  std::shared_ptr<const PackedProduct> product;          // product, linear
  std::shared_ptr<const PackedConvolution> convolution;  // convolution
  TurnedEnds turned;                                     // convolution
  std::shared_ptr<const AlignedBuffer> constant;         // constant: its numbers
  std::vector<ValueId> terms;                            // product, linear: its operands without the start
  std::size_t stretches = 1;                             // linear: in each row, as many products
  bool starts = false;                                   // product: the last input is the start
  bool wide = false;          // product: its weights are so many that the team should read them only once
  PointwiseKernel pointwise;  // of a pointwise operator
  // It and so many behind it less one, pointwise operators and views, run row by row: what they hand on is
  // still in the first cache.
  std::size_t together = 1;
  std::shared_ptr<const Cell> cell;   // where no kernel runs it, which needs shapes and weights:
  std::vector<const float*> weights;  // they belong to the model
  std::int64_t weight_rows = 0;
};

// Operators that run for all rows of a task before the next ones do.
struct GenericStage {
  std::span<const GenericOp> ops;
  std::vector<GenericOp> views;  // of operators before, that these read through
  std::vector<ValueId> inputs;   // values that cross into it
  std::vector<ValueId> outputs;  // values that cross out of it
  std::vector<ValueId> values;   // those that it computes for itself
  GenericRoom room;
};

// Any other cell: its operators one after another, each over a chunk of rows, with the same kernels and the
// same chains of fused multiply-adds as the fused cells, so that the bits are the same, too. Chunks are dealt
// to the team. Where all weights together are more than a core's cache holds, they go through stages: while
// the chunks of many rows go through one, its weights stay there. A cell with a product whose weights do not
// stay in a core's cache, as that of a decoder's output, goes through its operators with all rows at once
// instead, and the team shares the columns of such products: each weight is read once for a task, and a lone
// row has all threads.
class GenericCell final : public CpuCell {
 public:
  static Result<std::unique_ptr<CpuCell>> make(const Cell& cell, const Weights& weights,
                                               const CompileOptions& options, PoolFinder& pools,
                                               const Kernels& kernels);

  Status run(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const override;
  const RowShape& shape() const override { return shape_; }
  double flops_per_row() const override { return flops_; }
  std::uint64_t packed_bytes() const override { return packed_bytes_; }
  std::string kernel() const override { return "generic"; }

 private:
  struct Job;
  struct Narrow;

  GenericCell(const Cell& cell, const Kernels& kernels) : shape_(row_shape(cell)), kernels_(&kernels) {}
  void describe_values(const Cell& cell, const WeighedSums& weighed);
  void gather_operators();
  // When values are computed and read last, through views as well: by each operator, and by those that run
  // together as if they were the first of them.
  struct Lives {
    std::vector<ValueLife> by_operator, by_group;
  };
  Lives find_lives() const;
  std::vector<std::size_t> begins_of_stages(const Lives& lives) const;
  void cut_into_stages();
  void read_across(GenericStage& stage, std::size_t first);
  void place_values(GenericStage& stage, const Lives& lives);
  const GenericOp* find_alike(const GenericOp& made) const;
  Status add_operator(const Cell& cell, const Operator& op, const Weights& weights,
                      const CompileOptions& options, PoolFinder& pools);
  Status check_slots(const ResolvedRows& rows) const;
  static std::size_t chunk_rows(std::span<const GenericStage> stages, std::size_t rows, std::size_t edges,
                                std::uint32_t threads);
  std::size_t rows_between_stages(std::size_t chunk, std::uint32_t threads) const;
  // [first, last) of a task's rows.
  struct RowRange {
    std::size_t first, last;
  };
  Status run_stages(std::span<const GenericStage> stages, const ResolvedRows& rows, RowRange range,
                    Workspace& work, ThreadTeam& team, double estimate_us) const;
  static std::size_t most_edges(const ResolvedRows& rows, std::size_t chunk);
  Status run_wide(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const;
  static void run_narrow(const void* context, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread);
  static void run_chunk(const void* context, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread);

  RowShape shape_;
  const Kernels* kernels_;
  std::vector<GenericValue> values_;
  std::vector<GenericOp> ops_;
  std::shared_ptr<const Cell> interpreted_;  // of those of them that no kernel runs
  double flops_ = 0;
  std::uint64_t packed_bytes_ = 0;
  double row_us_ = 0, edge_us_ = 0;  // a guess of what one row takes, and one of its edges
  std::vector<GenericStage> stages_;
  std::size_t crossing_ = 0;   // floats of a row that cross from one to another
  bool wide_ = false;          // it has a wide product
  ConvolutionRoom room_;       // what its convolutions need
  std::size_t stretches_ = 1;  // the most of an operator
  AlignedBuffer zeros_;        // what a pull without an address reads
};

}  // namespace volvox::cpu
