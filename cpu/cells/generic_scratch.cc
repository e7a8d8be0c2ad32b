#include "cpu/cells/generic_scratch.h"

#include <algorithm>
#include <utility>

#include "cpu/cells/workspace.h"
#include "cpu/kernel/product_block.h"

namespace volvox::cpu {
namespace {

constexpr std::size_t kLineFloats = 16;

std::size_t floats_of(const GenericValue& value, std::size_t rows, std::size_t edges) {
  const std::size_t floats = value.stride * (value.ragged ? edges : rows);
  return (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
}

template <class T>
void at_least(std::vector<T>& v, std::size_t n) {
  if (v.size() < n) v.resize(n);
}

}  // namespace

Status GenericScratch::prepare(std::span<const GenericValue> values, std::size_t rows_of_chunk,
                               std::size_t edges, std::size_t stretches, const ConvolutionRoom& room) {
  at_least(rows, values.size());
  at_least(memory, values.size());
  at_least(places, values.size());
  at_least(out, std::max(rows_of_chunk * stretches, edges));
  if (Status ok = convolution.prepare(room); !ok) return ok;
  at_least(spread, kMaxTerms + 1);
  for (Rows& pointers : spread)
    at_least(pointers, std::max(stretches > 1 ? rows_of_chunk * stretches : 0, edges));
  std::size_t floats = 0;
  for (std::size_t v = 0; v < values.size(); ++v) {
    at_least(rows[v], values[v].ragged ? edges : rows_of_chunk);
    floats += floats_of(values[v], rows_of_chunk, edges);
  }
  if (Status ok = buffer.grow(floats * sizeof(float)); !ok) return ok;
  if (Status ok = parked.grow(kMaxBlockRows * kPlainGroups * kMaxLanes * sizeof(float)); !ok) return ok;
  float* at = buffer.f32();
  for (std::size_t v = 0; v < values.size(); ++v) {
    memory[v] = at;
    at += floats_of(values[v], rows_of_chunk, edges);
  }
  return {};
}

}  // namespace volvox::cpu
