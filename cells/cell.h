#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/convolution.h"
#include "cells/types.h"

namespace volvox {

// One kind of state that cells hand to each other ("h", "c"): one plane on a device.
// Row 0 of the plane holds `initial` in every element.
struct StateKind {
  std::string name{};
  Shape shape{};
  DType dtype = DType::kF32;
  double initial = 0.0;

  bool operator==(const StateKind&) const = default;
};

using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};

// The operators of a cell. Cavs §3.1 gives the first five; the others are ordinary.
enum class OpKind : std::uint8_t {
  kGather,     // () -> state `name` of predecessor `index`; the initial value where there is none
  kGatherAll,  // () -> ragged: state `name` of every predecessor in the list
  kPull,       // () -> this node's row of the request's input `name`; `index` counts the cell's inputs
  kScatter,    // (x) -> publishes x as this node's state `name`
  kPush,       // (x) -> emits x as result `name`; `index` counts the cell's results
  kEmbed,      // (id i32) -> row `id` of weights[0], shape [vocabulary, width]
  kProduct,  // (x0, x1, …) -> start + W0·x0 + W1·x1 …: ONE chain of fused multiply-adds for each output
             //   element, terms in order, ascending k. weights[i] has shape [out, width of x_i] (PyTorch's
             //   layout). The start is the last weight (the bias, shape [out]) when has_bias, else the
             //   last input (shape [out]) when has_start, else zero.
  kConvolution,  // (x) -> bias + each window of x times each kernel of weights[0], as `convolution` says: a
                 //   vector of [kernels, out_height, out_width]. ONE chain of fused multiply-adds for each
                 //   element, from the bias (weights[1], shape [kernels], when has_bias), in the order of the
                 //   kernel's weights; zeros around x are multiplied like any element
  kSlice,        // (x) -> x[begin, end) of a vector
  kConcat,       // (x0, x1, …) -> one vector
  kAdd,          // (a, b) -> a + b, element by element
  kMul,          // (a, b) -> a · b
  kMulAdd,       // (a, b, c) -> fma(a, b, c)
  kSigmoid,      // (x)
  kTanh,         // (x)
  kSegmentSum,   // (ragged) -> sum over the predecessors, in their order; zero for none
  kArgmax,       // (x) -> i32: index of the largest element of a vector, the first of equals. A NaN is less
                 //   than all else: where all are NaN it is 0
  kHash,         // (state u64, token i32) -> u64: the mixing function of check_hash()
  kHashAll,      // (ragged u64, token i32) -> u64: check_hash(0, token), then mixed with each predecessor's
                 //   number, in their order
};
std::string_view to_string(OpKind kind);

struct Operator {
  OpKind kind{};
  std::vector<ValueId> inputs{};
  std::vector<std::string> weights{};  // tensor names; two cells may name the same tensor
  std::string name{};                  // state, input or result name
  std::uint32_t index = 0;             // predecessor, input or result number
  std::int64_t begin = 0, end = 0;     // kSlice
  Convolution convolution{};           // kConvolution
  bool has_bias = false, has_start = false;
  ValueId output = kNoValue;  // kNoValue for kScatter and kPush
};

struct Value {
  DType dtype = DType::kF32;
  Shape shape{};        // known after infer()
  bool ragged = false;  // one row for each predecessor
};

// A small static dataflow graph in SSA form, with the names of its weights: the unit that is batched
// (BatchMaker §3.1). Operators stand in execution order; every value has one producer. Immutable once built.
struct Cell {
  std::string name;
  std::vector<Value> values;
  std::vector<Operator> operators;
  std::vector<StateKind> states;  // what a node of this cell publishes, in the order of its scatters

  // How many single predecessors, inputs and results a node of this cell has: 1 + the largest index in use.
  std::uint32_t gathers = 0, pulls = 0, pushes = 0;
  bool gathers_all = false;

  const Operator* producer(ValueId value) const;  // nullptr when there is none
};

// The 64-bit mixing function of `new-check` models and the fake device: a lost, doubled, reordered or leaked
// step changes every later value.
constexpr std::uint64_t check_hash(std::uint64_t state, std::uint64_t token) {
  std::uint64_t x = (state ^ (token + 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 32);
}

}  // namespace volvox
