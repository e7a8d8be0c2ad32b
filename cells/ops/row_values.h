#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cells/ir/cell.h"

namespace volvox {

// The arithmetic that operators are written in: reals of one kind, and who computes with them.
template <class Real>
struct RealMath {
  Real (*fma)(Real a, Real b, Real c);
  Real (*sigmoid)(Real x);
  Real (*tanh)(Real x);
  // start + Σ w[k]·x[k]: one chain of multiply-adds over ascending k.
  Real (*chain)(Real start, const float* w, const Real* x, std::size_t n);
};

// The values of a cell for one row of a batch, for operators to compute with (OpDef::evaluate_f64,
// evaluate_f32). f32 values are Reals; a ragged value has a row for each predecessor. One thread at a time;
// the cell must outlive it. Allocates only where a row has more predecessors than any before it.
template <class Real>
class RowValues {
 public:
  RowValues(const Cell& cell, const RealMath<Real>& math)
      : cell_(cell), math_(math), reals_(cell.values.size()), integers_(cell.values.size()) {}

  // Predecessors in the row's list, from here on.
  void set_edges(std::uint32_t edges) { edges_ = edges; }
  std::uint32_t edges() const { return edges_; }
  // Of the operator that is computed next: where its weights lie, and how many rows the first has.
  void set_weights(std::span<const float* const> weights, std::int64_t rows) {
    weights_ = weights;
    weight_rows_ = rows;
  }
  std::span<const float* const> weights() const { return weights_; }
  std::int64_t weight_rows() const { return weight_rows_; }
  const RealMath<Real>& math() const { return math_; }

  const Value& value(ValueId v) const { return cell_.values[v]; }
  std::size_t width(ValueId v) const { return static_cast<std::size_t>(elements(value(v).shape)); }
  std::size_t rows(ValueId v) const { return value(v).ragged ? edges_ : 1; }
  // Of one row, on a device and in the wire.
  std::size_t bytes(ValueId v) const { return width(v) * size_bytes(value(v).dtype); }

  // Room for the value's rows; before the operator that makes it.
  void prepare(ValueId v) {
    if (value(v).dtype == DType::kF32) {
      reals_[v].resize(rows(v) * width(v));
    } else {
      integers_[v].resize(rows(v) * bytes(v));
    }
  }
  // Row `edge` of an f32 value; one that is not ragged has the same row for every predecessor.
  Real* real(ValueId v, std::size_t edge = 0) {
    return reals_[v].data() + (value(v).ragged ? edge * width(v) : 0);
  }
  // Row `edge` of a value of another type, as bytes, or as the one number that it is.
  std::byte* integers(ValueId v, std::size_t edge = 0) { return integers_[v].data() + edge * bytes(v); }
  template <class T>
  T integer(ValueId v, std::size_t edge = 0) const {
    T number;
    std::memcpy(&number, integers_[v].data() + edge * sizeof(number), sizeof(number));
    return number;
  }
  template <class T>
  void set_integer(ValueId v, T number) {
    std::memcpy(integers_[v].data(), &number, sizeof(number));
  }
  // For whoever needs more room than the value's own; until the next operator.
  std::vector<Real>& scratch() { return scratch_; }

 private:
  const Cell& cell_;
  const RealMath<Real>& math_;
  std::vector<std::vector<Real>> reals_;          // f32 values
  std::vector<std::vector<std::byte>> integers_;  // values of other types
  std::vector<Real> scratch_;
  std::span<const float* const> weights_;
  std::int64_t weight_rows_ = 0;
  std::uint32_t edges_ = 0;
};

}  // namespace volvox
