#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"

namespace volvox {

// Writes a cell as straight-line code: Cavs' gather, scatter, pull and push (Cavs §3.1), and ordinary
// operators between them. Nothing is checked until build(), which says what is wrong with what operator, so
// calls need no error handling.
//
//   CellBuilder b("tree_lstm.internal");
//   b.state({"h", {256}}).state({"c", {256}});
//   auto [h_left, c_left] = b.gather(0, {"h", "c"});  // a missing child reads the initial value
//   …
//   b.scatter("h", h);
//   b.push("h", h);
//   Result<Cell> cell = b.build(&weights, "model");
class CellBuilder {
 public:
  explicit CellBuilder(std::string name);

  // Declares a kind of state that the cell gathers or scatters.
  CellBuilder& state(StateKind kind);

  // State of predecessor `index` (< kMaxGathers). A template, so that {"h", "c"} is a list and not one string
  // between two pointers.
  template <std::convertible_to<std::string_view> Name>
  ValueId gather(std::uint32_t index, const Name& kind) {
    return gather_one(index, kind);
  }
  template <std::size_t N>
  std::array<ValueId, N> gather(std::uint32_t index, const std::string_view (&kinds)[N]) {
    std::array<ValueId, N> values{};
    for (std::size_t i = 0; i < N; ++i) values[i] = gather_one(index, kinds[i]);
    return values;
  }
  // State of a predecessor of another cell, whose states are not declared here.
  ValueId gather(std::uint32_t index, std::string_view kind, Shape shape, DType dtype = DType::kF32);
  // State of every predecessor in the list: a ragged value, one row for each.
  template <std::convertible_to<std::string_view> Name>
  ValueId gather_all(const Name& kind) {
    return gather_all_of(kind);
  }
  template <std::size_t N>
  std::array<ValueId, N> gather_all(const std::string_view (&kinds)[N]) {
    std::array<ValueId, N> values{};
    for (std::size_t i = 0; i < N; ++i) values[i] = gather_all_of(kinds[i]);
    return values;
  }
  // This node's row of an input. Inputs are numbered in the order in which their names first come.
  ValueId pull(std::string_view name, DType dtype, Shape shape = {});

  void scatter(std::string_view kind, ValueId value);
  // Emits a result. Results are numbered in the order of the calls.
  void push(std::string_view name, ValueId value);

  // Row `id` of the tensor `table`, or a row for each of several ids, shape [vocabulary, width]. Width 0: as
  // in the weights given to build().
  ValueId embed(ValueId id, std::string_view table, std::int64_t width = 0);

  struct Term {
    std::string_view weight;  // shape [out, width of x]
    ValueId x = kNoValue;
  };
  struct Start {
    std::string_view bias = {};  // a tensor of shape [out], or
    ValueId value = kNoValue;    // a vector of this cell; neither: zero
    std::int64_t width = 0;      // out; 0: as in the weights given to build()
  };
  // start + Σ weight·x: one chain of fused multiply-adds for each output, terms in order.
  ValueId product(std::initializer_list<Term> terms, const Start& start);

  // The same for each stretch along the last axis of the x; from a bias or zero.
  ValueId linear(std::initializer_list<Term> terms, const Start& start);

  // Windows of x, a value of as many elements as the convolution's input has, times the kernels in `weight`;
  // `bias` names a tensor of shape [kernels], or nothing.
  ValueId convolution(ValueId x, std::string_view weight, const Convolution& shape,
                      std::string_view bias = {});

  ValueId slice(ValueId x, std::int64_t begin, std::int64_t end);
  ValueId concat(std::vector<ValueId> parts);
  // Element by element. Where one side is ragged, the other is used for every predecessor.
  ValueId add(ValueId a, ValueId b);
  ValueId mul(ValueId a, ValueId b);
  ValueId mul_add(ValueId a, ValueId b, ValueId c);  // fma(a, b, c)
  ValueId sigmoid(ValueId x);
  ValueId tanh(ValueId x);
  // Sum over the predecessors of a ragged value, in their order; zero for none.
  ValueId segment_sum(ValueId ragged);
  // Index (i32) of the largest element of a vector, the first of equals: a decoder's next token.
  ValueId argmax(ValueId x);
  // Any operator that computes, by its name in cells/ops; an unknown one is an error of build().
  ValueId apply(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {},
                std::vector<std::string> weights = {});
  // A pooling of x by its name: windows as a convolution has them, with a kernel for each channel.
  ValueId pool(std::string_view op, ValueId x, const Convolution& shape);
  ValueId constant(double number);                 // a scalar
  ValueId reshape(ValueId x, const Shape& shape);  // the same elements
  ValueId hash(ValueId state, ValueId token);
  ValueId hash_all(ValueId ragged, ValueId token);

  // The finished cell, with all shapes. Without weights their shapes are not checked, and products and
  // embeddings must have been given their width. Errors name model, cell and operator.
  Result<Cell> build(const Weights* weights = nullptr, std::string_view model = {}) const;

 private:
  ValueId gather_one(std::uint32_t index, std::string_view kind);
  ValueId gather_all_of(std::string_view kind);
  ValueId emit(Operator op, Value value = {});
  ValueId emit_sum(const OpDef& def, std::initializer_list<Term> terms, const Start& start);
  // One that computes, by name; kNoValue, and an error of build(), if there is none.
  ValueId emit_named(std::string_view name, Operator op);
  Value declared(std::string_view kind);

  Cell cell_;
  std::vector<StateKind> kinds_;
  std::vector<std::string> inputs_;
  std::optional<std::string> error_;  // what infer() could not see
};

}  // namespace volvox
