#pragma once

#include <cstdint>
#include <vector>

#include "import/onnx/cell_writer.h"

// What can be done with tensors whose numbers are known, of any type.
namespace volvox::onnx_import {

// The numbers from[i] of a tensor, in another shape.
KnownTensor picked(const Constant& x, Shape shape, const std::vector<std::int64_t>& from);
// As reals; a tensor of reals is itself.
KnownTensor as_real(const KnownTensor& x);
KnownTensor as_integer(const KnownTensor& x);
// As reals, whether they are known or not.
Quantity reals_of(CellWriter& writer, const Quantity& x);
// Whole numbers from 0 to this one are all held exactly by a real.
inline constexpr std::int64_t kMostExact = std::int64_t{1} << 24;
// Of whole numbers, spread to one shape.
Quantity integers_of(const Quantity& a, const Quantity& b,
                     std::int64_t (*combine)(std::int64_t, std::int64_t));
// Where element i of `shape` lies in a tensor of shape `from` that is spread to it.
std::vector<std::int64_t> spread_places(const Shape& from, const Shape& shape);
// Refuses what has more elements than a value that a cell computes may have, or a tensor of numbers.
std::int64_t checked_elements(const Shape& shape);
std::int64_t checked_numbers(const Shape& shape);

}  // namespace volvox::onnx_import
