#pragma once

#include <cstdint>

#include "import/onnx/graph.h"
#include "import/onnx/node_call.h"

// A graph computes with the length of its sequence: it takes shapes apart and puts them together. While
// importing nobody knows that length, and a number stands for it which no shape has. Of all that can be done
// with it only what gives it back, or a place from its end, has a meaning; anything else is refused.
namespace volvox::onnx_import {

inline constexpr std::int64_t kOpenLength = std::int64_t{1} << 40;

// Stands for the number of a loop's round, which goes along the sequence.
inline constexpr std::int64_t kRound = 2 * kOpenLength;

// The length itself, or a little more or less than it.
bool is_open(std::int64_t number);
// A place from the end of the sequence: -1 is the last step, 0 behind it. Of others themselves.
std::int64_t from_the_end(std::int64_t number);
// Whether some of its numbers are, or near that of a round.
bool has_open(const Quantity& x);

// A node of known tensors, some of which have open numbers: computes it, or refuses.
void compute_with_length(NodeCall& call);

}  // namespace volvox::onnx_import
