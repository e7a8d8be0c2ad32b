#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "device/device.h"
#include "device/planes.h"
#include "device/row_table.h"

namespace volvox::cpu {

// Finds the planes of a device's pools by number. Planes stay where they are.
class PoolFinder {
 public:
  virtual ~PoolFinder() = default;
  virtual Planes* find_pool(PoolId pool) = 0;  // nullptr: there is none
};

// One state of a pool, ready to turn slots into pointers.
struct PlaneView {
  std::byte* data = nullptr;
  std::size_t stride_bytes = 0;
  std::size_t row_bytes = 0;
  std::uint32_t slots = 0;

  std::byte* row(std::uint32_t slot) const { return data + slot * stride_bytes; }
};
// The plane of the gather, gather_all or scatter `op`. Errors name the cell and the state.
Result<PlaneView> find_plane(const Cell& cell, const Operator& op, const CompileOptions& options,
                             PoolFinder& pools);

// A weight by name, checked for type and shape. Errors name the cell and the tensor.
Result<const Tensor*> find_weight(const Cell& cell, const std::string& name, const Shape& shape,
                                  const Weights& weights);

// Rows of a table by id: of a weight [vocabulary, width], where it lies. An id
// outside it gives a row of zeros.
struct EmbeddingTable {
  AlignedBuffer zeros;
  const std::byte* rows = nullptr;
  std::size_t row_bytes = 0;
  std::int64_t vocabulary = 0;

  const std::byte* row(std::int32_t id) const {
    const bool inside = id >= 0 && id < vocabulary;
    return inside ? rows + static_cast<std::size_t>(id) * row_bytes : zeros.data();
  }
};
Result<EmbeddingTable> find_table(const Cell& cell, const Operator& embed, const Weights& weights);

// The numbers of a constant operator.
Result<AlignedBuffer> copy_constant(const Cell& cell, const Operator& constant, const Weights& weights);

// Where an operand's rows come from: states that are gathered, inputs that are pulled, or rows of a table
// chosen by a pulled id. Turns a task's rows into pointers; nothing is copied.
class RowSource {
 public:
  enum class Kind : std::uint8_t { kGather, kPull, kEmbed };

  // `value` must be one that lies_in_memory().
  static Result<RowSource> make(const Cell& cell, ValueId value, const Weights& weights,
                                const CompileOptions& options, PoolFinder& pools);

  Status resolve(const ResolvedRows& rows, std::vector<const float*>& out) const;

 private:
  void resolve_pull(const ResolvedRows& rows, std::vector<const float*>& out) const;
  void resolve_embed(const ResolvedRows& rows, std::vector<const float*>& out) const;

  Kind kind_ = Kind::kGather;
  std::uint32_t index_ = 0;  // gather or pull
  PlaneView plane_;
  std::shared_ptr<const EmbeddingTable> table_;
  std::shared_ptr<const AlignedBuffer> zeros_;  // what a pull without an address reads
};

// Pointers to the rows of `plane` that a task writes.
Status resolve_out(const ResolvedRows& rows, const PlaneView& plane, std::vector<float*>& out);

}  // namespace volvox::cpu
