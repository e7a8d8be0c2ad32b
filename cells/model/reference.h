#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "cells/ir/cell_program.h"
#include "cells/ir/evaluate.h"
#include "cells/model/model.h"
#include "cells/unfold/unfolding.h"

namespace volvox {

// One output of a request, in the order of Model::outputs: rows back to back.
struct ReferenceOutput {
  std::vector<double> reals;     // an f32 output
  std::vector<std::byte> bytes;  // an output of another type, as a client receives it
};

// The arithmetic of the reference: std::exp and std::tanh, and sums whose order is nobody's promise.
struct ReferenceMath {
  static double fma(double a, double b, double c) { return a * b + c; }
  static double exp(double x);
  static double log(double x);
  static double sigmoid(double x);
  static double tanh(double x);
  static double erf(double x);
  template <class Weight>  // float or double
  static double chain(double start, const Weight* w, const double* x, std::size_t n);
};

// Whether served answers are right is decided here: a model's cells in double precision, step by step and one
// request at a time, with nothing that a device uses. Load the model with LoadOptions::eager = false, so that
// the split is not trusted either. A request of n steps takes about n · (weights of the cell) / 1.5e9
// seconds. One thread at a time may use it.
class Reference {
 public:
  static Result<Reference> make(std::shared_ptr<const Model> model);

  // inputs[i]: the rows of Model::inputs[i], back to back, as a client sends them. Fails on what a server
  // would refuse as well.
  Result<std::vector<ReferenceOutput>> run(std::span<const std::span<const std::byte>> inputs,
                                           const Structure& structure);
  // For models with a single i32 input.
  Result<std::vector<ReferenceOutput>> run(std::span<const std::int32_t> tokens, const Structure& structure);
  // Along a chain of as many steps as there are rows.
  Result<std::vector<ReferenceOutput>> run(std::span<const std::span<const std::byte>> inputs);
  Result<std::vector<ReferenceOutput>> run(std::span<const std::int32_t> tokens);

 private:
  struct Run;

  Status check_inputs(std::span<const std::span<const std::byte>> inputs, const Extent& extent) const;
  void begin(Run& run) const;
  void bind_states(const Run& run, std::uint32_t number, CellRow& row, std::vector<const void*>& gathers,
                   std::vector<const void*>& ragged) const;
  void bind_request(Run& run, std::uint32_t number, CellRow& row) const;
  const std::byte* state_of(const Run& run, std::uint32_t node, const Operator& op) const;
  bool stops(const Run& run, const ReferenceOrder::Node& node) const;
  void compute(Run& run, std::uint32_t number);

  std::shared_ptr<const Model> model_;
  std::vector<std::unique_ptr<CellProgram>> programs_;  // for each type; evaluators point at them
  std::vector<CellEvaluator<double, ReferenceMath>> evaluators_;
};

}  // namespace volvox
