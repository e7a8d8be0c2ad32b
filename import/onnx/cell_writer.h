#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cells/ir/cell.h"
#include "import/onnx/graph.h"
#include "import/onnx/weight_book.h"

namespace volvox::onnx_import {

// Why something cannot be imported, thrown where it is found: the walk over a graph makes an error of it that
// names the node, and no other exception leaves this folder.
struct Refusal {
  std::string why;
};
[[noreturn]] inline void refuse(std::string why) {
  throw Refusal{std::move(why)};
}

struct Weighing;

// A value of the graph: known while importing, or computed by the cell for each row.
struct Quantity {
  KnownTensor known{};
  ValueId id = kNoValue;  // unless known
  Shape shape{};
  DType dtype = DType::kF32;
  // Which axis is that of a sequence of any length: the cell is one step of it, and the extent is how many
  // rows a step has, mostly 1. Only import/onnx/sequence/ sets it.
  std::optional<std::size_t> steps{};
  bool turned = false;  // its first step is the sequence's last
  // Rows before its first step and behind its last, which are no steps: zeros that were put there before it
  // was convolved, or behind that whatever comes of them.
  struct Margin {
    std::int64_t before = 0, after = 0;
    bool zeros = false;

    bool none() const { return before == 0 && after == 0; }
  } margin{};
  // Its steps, which are its last axis, and the one before are one axis of the graph: groups of channels have
  // all that they have in one.
  bool joined = false;
  // Where it has steps: rows of the last ones that are not there. What stands in their place means nothing.
  std::int64_t missing = 0;
  // It has a number for each pair of steps, or the shares that a softmax has made of those:
  // import/onnx/sequence/attention.h.
  enum class Pairs : std::uint8_t { kNone, kNumbers, kShares } pairs = Pairs::kNone;
  // What it is made of where it is shares of all steps, or what those weigh, of the same file. Null: nothing
  // such.
  std::shared_ptr<const Weighing> weighing{};

  bool is_known() const { return known != nullptr; }
  std::size_t rank() const { return shape.size(); }
};

Quantity known(KnownTensor tensor);
Quantity known_reals(Shape shape, std::vector<float> reals);
Quantity known_integers(Shape shape, std::vector<std::int64_t> integers);

// Writes a cell, operator by operator. What is known is computed at once, by the same definitions that run
// cells, in f32; and what only moves numbers about is left out where it can be. Every function refuses what
// does not fit.
class CellWriter {
 public:
  // Cells of one model share a book.
  explicit CellWriter(std::shared_ptr<WeightBook> weights = std::make_shared<WeightBook>())
      : weights_(std::move(weights)) {}

  Quantity pull(const std::string& name, std::uint32_t index, DType dtype, const Shape& shape);
  // Of predecessor `index`: 0 is the step before.
  Quantity gather(const std::string& state, const Shape& shape, std::uint32_t index = 0,
                  DType dtype = DType::kF32);
  void scatter(const std::string& state, const Quantity& x, double initial = 0);
  void push(const std::string& name, std::uint32_t index, const Quantity& x);

  // Whole numbers that are not known as reals, which hold each id exactly; others are themselves.
  Quantity as_f32(const Quantity& x);
  // Reals that hold whole numbers as such.
  Quantity as_id(const Quantity& x);
  Quantity reshape(const Quantity& x, const Shape& shape);
  Quantity flat(const Quantity& x) { return reshape(x, {elements(x.shape)}); }
  Quantity transpose(const Quantity& x, const std::vector<std::int64_t>& axes);
  // Elements begin, begin + step … up to end along an axis. A step below 0 goes backwards, to after `end`.
  Quantity slice(const Quantity& x, std::size_t axis, std::int64_t begin, std::int64_t end,
                 std::int64_t step = 1);
  Quantity concat(const std::vector<Quantity>& parts, std::size_t axis);
  // An operator of cells/ops whose inputs are spread to one shape.
  Quantity pointwise(std::string_view op, const std::vector<Quantity>& inputs, Attributes attributes = {});
  Quantity add(const Quantity& a, const Quantity& b);  // joins products
  Quantity sub(const Quantity& a, const Quantity& b) { return pointwise("sub", {a, b}); }
  Quantity mul(const Quantity& a, const Quantity& b) { return pointwise("mul", {a, b}); }
  // Rows of a table of two axes, of each id one, along a last axis.
  Quantity look_up(const KnownTensor& table, const Quantity& ids);
  // Any operator of cells/ops, with the shape of its value.
  Quantity apply(std::string_view op, std::vector<Quantity> inputs, Attributes attributes, Shape shape,
                 std::vector<KnownTensor> weights = {}, DType dtype = DType::kF32);

  // Σ weight·x + bias, or + start: vectors, weights of [out, width of x].
  struct Term {
    KnownTensor weight{};
    Quantity x{};
  };
  Quantity product(const std::vector<Term>& terms, const KnownTensor& bias = nullptr,
                   const Quantity* start = nullptr);
  // Of any shape that has the elements; the result is [kernels, positions], flat.
  Quantity convolution(const Quantity& x, const Convolution& shape, const KnownTensor& weight,
                       const KnownTensor& bias);
  Quantity pool(std::string_view op, const Quantity& x, const Convolution& shape);

  // What the weights that are made from here on are called.
  void name_weights(std::string hint) { hint_ = std::move(hint); }

  // What has been written, for whoever copies it into other cells with the same book: the operator that made
  // a value, and any operator as it is, whose inputs are values of this cell.
  const Operator& maker(ValueId value) const { return cell_.operators[producers_[value]]; }
  Quantity value_of(ValueId id) const {
    return {.id = id, .shape = cell_.values[id].shape, .dtype = cell_.values[id].dtype};
  }
  Quantity emit(Operator op, Shape shape, DType dtype = DType::kF32);
  std::size_t values() const { return cell_.values.size(); }

  using Weight = WeightBook::Weight;
  // The cell without what nobody reads, and the weights that are left. Not inferred yet.
  struct Written {
    Cell cell{};
    std::vector<Weight> weights{};
  };
  Written finish() const;

 private:
  static bool is_id(const Quantity& x) { return !x.is_known() && x.dtype == DType::kI32; }
  const Operator& producer(const Quantity& x) const { return maker(x.id); }
  bool is_made_by(const Quantity& x, std::string_view op) const;
  Quantity computed(const Quantity& x);  // one of the cell
  Quantity backwards(const Quantity& x, std::size_t axis, std::int64_t begin, std::int64_t end,
                     std::int64_t step);
  Quantity part_of_concat(const Quantity& x, std::size_t axis, std::int64_t begin, std::int64_t end);
  Quantity joined(const Quantity& a, const Quantity& b);
  std::vector<Term> parted(const std::vector<Term>& terms);
  std::string weight(const KnownTensor& numbers, const Shape& shape) {
    return weights_->name_of(numbers, shape, hint_);
  }
  Quantity evaluate(const Operator& op, const std::vector<Quantity>& inputs,
                    const std::vector<KnownTensor>& weights, const Shape& shape, DType dtype);

  Cell cell_;
  std::vector<std::size_t> producers_;  // by value: its operator
  std::shared_ptr<WeightBook> weights_;
  std::map<std::pair<const Constant*, Shape>, ValueId> constants_;
  std::vector<KnownTensor> kept_;  // so that no other tensor gets the address of one that has a value
  std::string hint_ = "weight";
  int depth_ = 0;
  std::int64_t folded_ = 0;  // elements that were computed
};

// What the writer may compute by itself in all.
inline constexpr std::int64_t kMaxFoldedElements = std::int64_t{1} << 28;
inline constexpr std::size_t kMaxWrittenOperators = 1U << 16;

}  // namespace volvox::onnx_import
