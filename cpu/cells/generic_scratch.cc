#include "cpu/cells/generic_scratch.h"

#include <algorithm>
#include <utility>

#include "cpu/cells/cache_line.h"
#include "cpu/cells/workspace.h"
#include "cpu/kernel/product_block.h"

namespace volvox::cpu {
namespace {

template <class T>
void at_least(std::vector<T>& v, std::size_t n) {
  if (v.size() < n) v.resize(n);
}

}  // namespace

std::size_t ValueRoom::place(std::size_t place, std::size_t rows, bool scalar) {
  if (!scalar) return place * rows;
  return place / GenericValue::kScalarStride * whole_lines(GenericValue::kScalarStride * rows);
}

Status GenericScratch::prepare(std::span<const GenericValue> values, const GenericRoom& room,
                               std::size_t rows_of_chunk, std::size_t edges, std::size_t stretches,
                               const ConvolutionRoom& convolutions) {
  at_least(rows, values.size());
  at_least(memory, values.size());
  at_least(places, values.size());
  at_least(out, std::max(rows_of_chunk * stretches, edges));
  if (Status ok = convolution.prepare(convolutions); !ok) return ok;
  at_least(spread, kMaxTerms + 1);
  for (Rows& pointers : spread)
    at_least(pointers, std::max(stretches > 1 ? rows_of_chunk * stretches : 0, edges));
  for (std::size_t v = 0; v < values.size(); ++v) at_least(rows[v], values[v].ragged ? edges : rows_of_chunk);
  if (Status ok = buffer.grow(room.floats(rows_of_chunk, edges) * sizeof(float)); !ok) return ok;
  return parked.grow(kMaxBlockRows * kPlainGroups * kMaxLanes * sizeof(float));
}

void GenericScratch::point_at_values(std::span<const GenericValue> values, std::span<const ValueId> which,
                                     const GenericRoom& room, std::size_t rows_of_chunk, std::size_t edges) {
  float* const of_rows = buffer.f32() + room.passing;
  float* const of_edges = of_rows + room.rows.floats(rows_of_chunk);
  for (const ValueId v : which) {
    const GenericValue& value = values[v];
    if (value.passes) {
      memory[v] = buffer.f32() + value.place;
      continue;
    }
    const ValueRoom& kind = value.ragged ? room.edges : room.rows;
    const std::size_t n = value.ragged ? edges : rows_of_chunk;
    memory[v] = (value.ragged ? of_edges : of_rows) +
                (value.is_scalar() ? ValueRoom::place(kind.vectors, n, false) : 0) +
                ValueRoom::place(value.place, n, value.is_scalar());
  }
}

void GenericScratch::point_at_crossing(std::span<const GenericValue> values, std::span<const ValueId> which,
                                       float* crossing, std::size_t rows_of_task, std::size_t begin) {
  for (const ValueId v : which)
    memory[v] = crossing + values[v].place * rows_of_task + begin * values[v].stride;
}

}  // namespace volvox::cpu
