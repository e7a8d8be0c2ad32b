#include "cpu/cells/row_source.h"

#include <cstring>
#include <string>
#include <utility>

#include "cells/ops/ops.h"
#include "device/host_memory.h"

namespace volvox::cpu {
namespace {

constexpr std::size_t kLine = 64;

std::string in_cell(const Cell& cell) {
  return "cell '" + cell.name + "': ";
}

Status bad_slot(std::uint32_t slot, const PlaneView& plane) {
  return fail(ErrorCode::kInternal, "a row names slot " + std::to_string(slot) + " of a pool of " +
                                        std::to_string(plane.slots) + " slots");
}

// out[r] = the row of `plane` with number slots[r]. Checks all before it reports.
template <class T>
Status point_at(const PlaneView& plane, const std::uint32_t* slots, std::size_t n, std::vector<T*>& out) {
  if (out.size() < n) out.resize(n);
  std::uint32_t largest = 0;
  for (std::size_t r = 0; r < n; ++r) {
    largest = largest < slots[r] ? slots[r] : largest;
    out[r] = reinterpret_cast<T*>(plane.row(slots[r]));
  }
  if (n > 0 && largest >= plane.slots) return bad_slot(largest, plane);
  return {};
}

PoolId pool_of(const Operator& op, const CompileOptions& options) {
  if (op.is(kGatherOp)) return options.gather_pools[op.index];
  return op.is(kGatherAllOp) ? options.ragged_pool : options.out_pool;
}

}  // namespace

Result<PlaneView> find_plane(const Cell& cell, const Operator& op, const CompileOptions& options,
                             PoolFinder& pools) {
  const PoolId id = pool_of(op, options);
  const Planes* planes = pools.find_pool(id);
  if (planes == nullptr) return invalid(in_cell(cell) + "there is no pool " + std::to_string(id));
  const auto found = planes->find(op.name);
  if (!found) return invalid(in_cell(cell) + "its pool has no state '" + op.name + "'");
  const Plane& plane = (*planes)[*found];
  const ValueId value = op.is(kScatterOp) ? op.inputs.at(0) : op.output;
  const Value& v = cell.values.at(value);
  if (plane.kind.dtype != v.dtype || elements(plane.kind.shape) != elements(v.shape)) {
    return invalid(in_cell(cell) + "state '" + op.name + "' is " + to_string(plane.kind.dtype).data() +
                   to_string(plane.kind.shape) + " in its pool and " + to_string(v.dtype).data() +
                   to_string(v.shape) + " in the cell");
  }
  return PlaneView{plane.data, plane.stride_bytes, plane.row_bytes, planes->slots()};
}

Result<const Tensor*> find_weight(const Cell& cell, const std::string& name, const Shape& shape,
                                  const Weights& weights) {
  const Tensor* tensor = weights.find(name);
  if (tensor == nullptr) return invalid(in_cell(cell) + "there is no weight '" + name + "'");
  const std::size_t bytes = static_cast<std::size_t>(elements(shape)) * sizeof(float);
  if (tensor->dtype != DType::kF32 || tensor->shape != shape || tensor->bytes.size() < bytes) {
    return invalid(in_cell(cell) + "weight '" + name + "' is " + to_string(tensor->dtype).data() +
                   to_string(tensor->shape) + ", expected f32" + to_string(shape));
  }
  return tensor;
}

Result<EmbeddingTable> find_table(const Cell& cell, const Operator& embed, const Weights& weights) {
  const std::string& name = embed.weights.at(0);
  const std::int64_t width = elements(cell.values.at(embed.output).shape);
  const Tensor* found = weights.find(name);
  const std::int64_t vocabulary = found == nullptr || found->shape.empty() ? 0 : found->shape[0];
  auto tensor = find_weight(cell, name, {vocabulary, width}, weights);
  if (!tensor) return tl::unexpected(tensor.error());
  if (vocabulary < 1) return invalid(in_cell(cell) + "weight '" + name + "' has no rows");
  EmbeddingTable table;
  table.row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  table.vocabulary = vocabulary;
  auto zeros = AlignedBuffer::make(table.row_bytes);
  if (!zeros) return tl::unexpected(zeros.error());
  table.zeros = std::move(*zeros);
  table.rows = (*tensor)->bytes.data();
  return table;
}

Result<AlignedBuffer> copy_constant(const Cell& cell, const Operator& constant, const Weights& weights) {
  const Shape& shape = cell.values.at(constant.output).shape;
  const auto n = static_cast<std::size_t>(elements(shape));
  auto numbers = AlignedBuffer::make(n * sizeof(float));
  if (!numbers) return tl::unexpected(numbers.error());
  if (!constant.weights.empty()) {
    const auto tensor = find_weight(cell, constant.weights[0], shape, weights);
    if (!tensor) return tl::unexpected(tensor.error());
    std::memcpy(numbers->data(), (*tensor)->bytes.data(), n * sizeof(float));
    return numbers;
  }
  const std::vector<double>& reals = constant.attributes.reals;  // one for each element, or one for all
  for (std::size_t k = 0; k < n; ++k)
    numbers->f32()[k] = static_cast<float>(reals.at(reals.size() == 1 ? 0 : k));
  return numbers;
}

Result<RowSource> RowSource::make(const Cell& cell, ValueId value, const Weights& weights,
                                  const CompileOptions& options, PoolFinder& pools) {
  const Operator& op = *cell.producer(value);
  RowSource source;
  source.index_ = op.index;
  if (op.is(kGatherOp)) {
    auto plane = find_plane(cell, op, options, pools);
    if (!plane) return tl::unexpected(plane.error());
    source.plane_ = *plane;
  } else if (op.is(kPullOp)) {
    source.kind_ = Kind::kPull;
    auto zeros =
        AlignedBuffer::make(static_cast<std::size_t>(elements(cell.values[value].shape)) * sizeof(float));
    if (!zeros) return tl::unexpected(zeros.error());
    source.zeros_ = std::make_shared<AlignedBuffer>(std::move(*zeros));
  } else {
    source.kind_ = Kind::kEmbed;
    source.index_ = cell.producer(op.inputs.at(0))->index;
    auto table = find_table(cell, op, weights);
    if (!table) return tl::unexpected(table.error());
    source.table_ = std::make_shared<EmbeddingTable>(std::move(*table));
  }
  return source;
}

Status RowSource::resolve(const ResolvedRows& rows, std::vector<const float*>& out) const {
  if (kind_ == Kind::kGather) return point_at(plane_, rows.gathers[index_].data(), rows.real_rows, out);
  if (out.size() < rows.real_rows) out.resize(rows.real_rows);
  kind_ == Kind::kPull ? resolve_pull(rows, out) : resolve_embed(rows, out);
  return {};
}

void RowSource::resolve_pull(const ResolvedRows& rows, std::vector<const float*>& out) const {
  for (std::size_t r = 0; r < rows.real_rows; ++r) {
    const DeviceAddress address = rows.pulls[index_][r];
    out[r] = address == 0 ? zeros_->f32() : reinterpret_cast<const float*>(at_address(address));
  }
}

void RowSource::resolve_embed(const ResolvedRows& rows, std::vector<const float*>& out) const {
  for (std::size_t r = 0; r < rows.real_rows; ++r) {
    const DeviceAddress address = rows.pulls[index_][r];
    std::int32_t id = 0;
    if (address != 0) std::memcpy(&id, at_address(address), sizeof id);
    const std::byte* row = table_->row(id);
    // The table is large and the order random: the first lines come from far away.
    __builtin_prefetch(row, 0, 2);
    __builtin_prefetch(row + kLine, 0, 2);
    out[r] = reinterpret_cast<const float*>(row);
  }
}

Status resolve_out(const ResolvedRows& rows, const PlaneView& plane, std::vector<float*>& out) {
  return point_at(plane, rows.out.data(), rows.real_rows, out);
}

}  // namespace volvox::cpu
