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

std::size_t windows_at_once(const Convolution& convolution) {
  constexpr std::size_t kRows = 16;
  return std::min(kMaxBlockRows, kRows * static_cast<std::size_t>(convolution.positions()));
}

void WindowScratch::include(const Convolution& convolution) {
  rows = std::max(rows, windows_at_once(convolution));
  window = std::max(window, static_cast<std::size_t>(convolution.window()));
  products = std::max(products, static_cast<std::size_t>(convolution.kernels));
}

Status GenericScratch::grow(AlignedBuffer& buffer, std::size_t floats) {
  if (buffer.size_bytes() >= floats * sizeof(float)) return {};
  auto larger = AlignedBuffer::make(floats * sizeof(float));
  if (!larger) return tl::unexpected(larger.error());
  buffer = std::move(*larger);
  return {};
}

Status GenericScratch::prepare(std::span<const GenericValue> values, std::size_t rows_of_chunk,
                               std::size_t edges, const WindowScratch& of_windows) {
  at_least(rows, values.size());
  at_least(memory, values.size());
  at_least(places, values.size());
  at_least(out, std::max({rows_of_chunk, edges, of_windows.rows}));
  at_least(windows, of_windows.rows);
  if (Status ok = grow(window_memory, of_windows.rows * of_windows.window); !ok) return ok;
  if (Status ok = grow(window_products, of_windows.rows * of_windows.products); !ok) return ok;
  at_least(spread, kMaxTerms + 1);
  for (Rows& pointers : spread) at_least(pointers, edges);
  std::size_t floats = 0;
  for (std::size_t v = 0; v < values.size(); ++v) {
    at_least(rows[v], values[v].ragged ? edges : rows_of_chunk);
    floats += floats_of(values[v], rows_of_chunk, edges);
  }
  if (Status ok = grow(buffer, floats); !ok) return ok;
  if (Status ok = grow(parked, kMaxBlockRows * kColumnsOf<kPlainGroups>); !ok) return ok;
  float* at = buffer.f32();
  for (std::size_t v = 0; v < values.size(); ++v) {
    memory[v] = at;
    at += floats_of(values[v], rows_of_chunk, edges);
  }
  return {};
}

}  // namespace volvox::cpu
