#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cells/cell_program.h"

namespace volvox {

// The arithmetic of the standard library. Any class with these four functions will do for CellEvaluator.
template <class Real>
struct StdMath {
  static Real fma(Real a, Real b, Real c) { return std::fma(a, b, c); }
  static Real sigmoid(Real x) { return Real{1} / (Real{1} + std::exp(-x)); }
  static Real tanh(Real x) { return std::tanh(x); }
  // start + Σ w[k]·x[k]: one chain of fused multiply-adds over ascending k.
  static Real chain(Real start, const float* w, const Real* x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) start = std::fma(static_cast<Real>(w[k]), x[k], start);
    return start;
  }
};

// A cell nobody has written a kernel for must run too, and every kernel needs something to be compared with.
// Runs any cell for one row, operator by operator. Owns the intermediate values, so one thread at a time may
// use it; allocates only where a row has more predecessors than any before it. The program must outlive it.
//
// Ids outside an embedding's table give a row of zeros.
template <class Real, class Math = StdMath<Real>>
class CellEvaluator {
 public:
  explicit CellEvaluator(const CellProgram& program)
      : program_(program), reals_(program.cell().values.size()), integers_(program.cell().values.size()) {}

  void run(const CellRow& row) {
    edges_ = row.edges;
    const auto& operators = program_.cell().operators;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = operators[i];
      if (op.output != kNoValue) prepare(op.output);
      step(op, program_.steps()[i], row);
    }
  }

 private:
  const Value& value(ValueId v) const { return program_.cell().values[v]; }
  std::size_t width(ValueId v) const { return static_cast<std::size_t>(elements(value(v).shape)); }
  std::size_t rows(ValueId v) const { return value(v).ragged ? edges_ : 1; }
  std::size_t bytes(ValueId v) const { return width(v) * size_bytes(value(v).dtype); }

  // Row `edge` of a value; a value that is not ragged has the same one for every predecessor.
  Real* real(ValueId v, std::size_t edge) {
    return reals_[v].data() + (value(v).ragged ? edge * width(v) : 0);
  }

  void prepare(ValueId v) {
    if (value(v).dtype == DType::kF32) {
      reals_[v].resize(rows(v) * width(v));
    } else {
      integers_[v].resize(rows(v) * bytes(v));
    }
  }

  void step(const Operator& op, const CellProgram::Step& step, const CellRow& row) {
    switch (op.kind) {
      case OpKind::kGather:
        return read(op.output, 0, row.gathers[step.number]);
      case OpKind::kGatherAll:
        for (std::uint32_t e = 0; e < edges_; ++e) read(op.output, e, row.ragged[step.number * edges_ + e]);
        return;
      case OpKind::kPull:
        return pull(op.output, row.pulls[op.index]);
      case OpKind::kScatter:
        return write(op.inputs[0], row.scatters[step.number]);
      case OpKind::kPush:
        if (row.pushes[op.index] != nullptr) write(op.inputs[0], row.pushes[op.index]);
        return;
      case OpKind::kEmbed:
        return embed(op, step);
      case OpKind::kProduct:
        return product(op, step);
      case OpKind::kConvolution:
        return convolution(op, step);
      case OpKind::kSlice:
        return slice(op);
      case OpKind::kConcat:
        return concat(op);
      case OpKind::kSegmentSum:
        return segment_sum(op);
      case OpKind::kArgmax:
        return argmax(op);
      case OpKind::kHash:
        return hash(op);
      case OpKind::kHashAll:
        return hash_all(op);
      default:
        return elementwise(op);
    }
  }

  void elementwise(const Operator& op) {
    switch (op.kind) {
      case OpKind::kAdd:
        return map(op, [](const Real* a, const Real* b, const Real*, std::size_t k) { return a[k] + b[k]; });
      case OpKind::kMul:
        return map(op, [](const Real* a, const Real* b, const Real*, std::size_t k) { return a[k] * b[k]; });
      case OpKind::kMulAdd:
        return map(op, [](const Real* a, const Real* b, const Real* c, std::size_t k) {
          return Math::fma(a[k], b[k], c[k]);
        });
      case OpKind::kSigmoid:
        return map(
            op, [](const Real* a, const Real*, const Real*, std::size_t k) { return Math::sigmoid(a[k]); });
      default:
        return map(op,
                   [](const Real* a, const Real*, const Real*, std::size_t k) { return Math::tanh(a[k]); });
    }
  }

  template <class F>
  void map(const Operator& op, F f) {
    const std::size_t n = width(op.output);
    for (std::size_t e = 0; e < rows(op.output); ++e) {
      const Real* in[3] = {nullptr, nullptr, nullptr};
      for (std::size_t i = 0; i < op.inputs.size(); ++i) in[i] = real(op.inputs[i], e);
      Real* out = real(op.output, e);
      for (std::size_t k = 0; k < n; ++k) out[k] = f(in[0], in[1], in[2], k);
    }
  }

  void read(ValueId v, std::size_t edge, const void* from) {
    if (value(v).dtype == DType::kF32) {
      std::memcpy(real(v, edge), from, width(v) * sizeof(Real));
    } else {
      std::memcpy(integers_[v].data() + edge * bytes(v), from, bytes(v));
    }
  }

  void write(ValueId v, void* to) {
    if (value(v).dtype == DType::kF32) {
      std::memcpy(to, reals_[v].data(), width(v) * sizeof(Real));
    } else {
      std::memcpy(to, integers_[v].data(), bytes(v));
    }
  }

  void pull(ValueId v, const void* from) {
    if (value(v).dtype != DType::kF32) return read(v, 0, from);
    const auto* input = static_cast<const float*>(from);
    std::copy(input, input + width(v), reals_[v].data());
  }

  void embed(const Operator& op, const CellProgram::Step& step) {
    const std::size_t n = width(op.output);
    const auto id = integer<std::int32_t>(op.inputs[0]);
    Real* out = reals_[op.output].data();
    if (id < 0 || id >= step.rows) {
      std::fill_n(out, n, Real{0});
    } else {
      const float* from = step.weights[0] + static_cast<std::size_t>(id) * n;
      std::copy(from, from + n, out);
    }
  }

  void product(const Operator& op, const CellProgram::Step& step) {
    const std::size_t out_width = width(op.output);
    const std::size_t terms = step.weights.size() - (op.has_bias ? 1 : 0);
    for (std::size_t e = 0; e < rows(op.output); ++e) {
      const Real* start = op.has_start ? real(op.inputs[terms], e) : nullptr;
      Real* out = real(op.output, e);
      for (std::size_t j = 0; j < out_width; ++j) {
        Real sum = op.has_bias        ? static_cast<Real>(step.weights[terms][j])
                   : start != nullptr ? start[j]
                                      : Real{0};
        for (std::size_t i = 0; i < terms; ++i) {
          const std::size_t n = width(op.inputs[i]);
          sum = Math::chain(sum, step.weights[i] + j * n, real(op.inputs[i], e), n);
        }
        out[j] = sum;
      }
    }
  }

  void convolution(const Operator& op, const CellProgram::Step& step) {
    const Convolution& c = op.convolution;
    const auto window = static_cast<std::size_t>(c.window());
    Real* out = reals_[op.output].data();
    window_.resize(window);
    for (std::int64_t position = 0; position < c.positions(); ++position) {
      copy_window(c, reals_[op.inputs[0]].data(), position, window_.data());
      for (std::int64_t k = 0; k < c.kernels; ++k) {
        const Real start = op.has_bias ? static_cast<Real>(step.weights[1][k]) : Real{0};
        out[k * c.positions() + position] = Math::chain(
            start, step.weights[0] + static_cast<std::size_t>(k) * window, window_.data(), window);
      }
    }
  }

  void slice(const Operator& op) {
    for (std::size_t e = 0; e < rows(op.output); ++e) {
      const Real* from = real(op.inputs[0], e);
      std::copy(from + op.begin, from + op.end, real(op.output, e));
    }
  }

  void concat(const Operator& op) {
    for (std::size_t e = 0; e < rows(op.output); ++e) {
      Real* out = real(op.output, e);
      for (ValueId v : op.inputs) out = std::copy_n(real(v, e), width(v), out);
    }
  }

  void segment_sum(const Operator& op) {
    const std::size_t n = width(op.output);
    Real* out = reals_[op.output].data();
    std::fill_n(out, n, Real{0});
    for (std::size_t e = 0; e < edges_; ++e) {
      const Real* in = real(op.inputs[0], e);
      for (std::size_t k = 0; k < n; ++k) out[k] += in[k];
    }
  }

  void argmax(const Operator& op) {
    const Real* x = reals_[op.inputs[0]].data();
    std::size_t best = 0;
    for (std::size_t k = 1; k < width(op.inputs[0]); ++k) {
      if (x[k] > x[best] || (std::isnan(x[best]) && !std::isnan(x[k]))) best = k;
    }
    const auto index = static_cast<std::int32_t>(best);
    std::memcpy(integers_[op.output].data(), &index, sizeof(index));
  }

  void hash(const Operator& op) {
    const auto token = static_cast<std::uint64_t>(integer<std::int32_t>(op.inputs[1]));  // sign extended
    const std::uint64_t state = check_hash(integer<std::uint64_t>(op.inputs[0]), token);
    std::memcpy(integers_[op.output].data(), &state, sizeof(state));
  }

  void hash_all(const Operator& op) {
    const auto token = static_cast<std::uint64_t>(integer<std::int32_t>(op.inputs[1]));  // sign extended
    std::uint64_t state = check_hash(0, token);
    for (std::uint32_t e = 0; e < edges_; ++e) {
      state = check_hash(state, integer<std::uint64_t>(op.inputs[0], e));
    }
    std::memcpy(integers_[op.output].data(), &state, sizeof(state));
  }

  // Row `edge` of a ragged number.
  template <class T>
  T integer(ValueId v, std::size_t edge = 0) const {
    T number;
    std::memcpy(&number, integers_[v].data() + edge * sizeof(number), sizeof(number));
    return number;
  }

  const CellProgram& program_;
  std::vector<std::vector<Real>> reals_;          // f32 values
  std::vector<std::vector<std::byte>> integers_;  // values of other types
  std::vector<Real> window_;                      // of a convolution
  std::uint32_t edges_ = 0;
};

}  // namespace volvox
