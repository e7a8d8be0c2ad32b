#pragma once

#include <cstdint>

#include "import/onnx/graph.h"
#include "import/onnx/node_call.h"

// A graph computes with the length of its sequence: it takes shapes apart and puts them together. While
// importing nobody knows that length, and a number stands for it which no shape has. Of all that can be done
// with it only what gives it back, or a place from its end, has a meaning; anything else is refused.
namespace volvox::onnx_import {

// Stands for the number of a loop's round, which goes along the sequence.
inline constexpr std::int64_t kRound = std::int64_t{1} << 41;

// What stands for the length of a sequence of which a step has so many rows. Refuses more than can be told
// apart.
std::int64_t open_length(std::int64_t rows);
// Such a length itself, or a little more or less than it.
bool is_open(std::int64_t number);
// Of one that is open: how many rows a step has of the sequence whose length it stands for, …
std::int64_t rows_of_open(std::int64_t number);
// … and how much more than it there is: -1 is the place of the last row, 0 that behind it.
std::int64_t from_the_end(std::int64_t number);
// Whether some of its numbers are, or near that of a round.
bool has_open(const Quantity& x);

[[noreturn]] inline void refuse_length() {
  refuse("computes with the length of the sequence, which may be any");
}

// A node of known tensors, some of which have open numbers: computes it, or refuses.
void compute_with_length(NodeCall& call);

}  // namespace volvox::onnx_import
