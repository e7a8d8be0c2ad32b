#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cells/model.h"
#include "cells/reference.h"

namespace volvox {

// What the reference's ways through a request have in common. Internal to it.

// Bytes of one row as the reference keeps it: f32 becomes double. A multiple of 8, so that rows are aligned.
inline std::size_t kept_bytes(DType dtype, const Shape& shape) {
  const auto count = static_cast<std::size_t>(elements(shape));
  const std::size_t bytes = count * (dtype == DType::kF32 ? sizeof(double) : size_bytes(dtype));
  return (bytes + 7) / 8 * 8;
}

inline std::vector<std::byte> initial_row(DType dtype, const Shape& shape, double initial) {
  std::vector<std::byte> row(kept_bytes(dtype, shape));
  const auto fill = [&](auto number) {
    for (std::int64_t i = 0; i < elements(shape); ++i) {
      std::memcpy(row.data() + static_cast<std::size_t>(i) * sizeof(number), &number, sizeof(number));
    }
  };
  if (dtype == DType::kF32) fill(initial);
  if (dtype == DType::kI32) fill(static_cast<std::int32_t>(initial));
  if (dtype == DType::kU64) fill(static_cast<std::uint64_t>(initial));
  return row;
}

// The initial value is a matter of the kind of state, which any pool of the model may hold.
inline double initial_of(const Model& model, const std::string& kind) {
  for (const PoolSpec& pool : model.pools) {
    for (const StateKind& state : pool.kinds) {
      if (state.name == kind) return state.initial;
    }
  }
  return 0.0;
}

inline std::size_t state_number(const std::vector<StateKind>& states, const std::string& kind) {
  const auto it =
      std::find_if(states.begin(), states.end(), [&](const StateKind& state) { return state.name == kind; });
  return static_cast<std::size_t>(it - states.begin());
}

// Room for the results of a request of `rows` steps or nodes.
inline std::vector<ReferenceOutput> make_outputs(const Model& model, std::uint32_t rows) {
  std::vector<ReferenceOutput> outputs;
  for (const OutputSpec& spec : model.outputs) {
    const std::size_t count = static_cast<std::size_t>(elements(spec.shape)) * (spec.every ? rows : 1);
    ReferenceOutput& output = outputs.emplace_back();
    if (spec.dtype == DType::kF32) {
      output.reals.resize(count);
    } else {
      output.bytes.resize(count * size_bytes(spec.dtype));
    }
  }
  return outputs;
}

inline void* row_of(ReferenceOutput& output, const OutputSpec& spec, std::size_t row) {
  const std::size_t at = row * static_cast<std::size_t>(elements(spec.shape));
  if (spec.dtype == DType::kF32) return output.reals.data() + at;
  return output.bytes.data() + at * size_bytes(spec.dtype);
}

}  // namespace volvox
