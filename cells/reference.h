#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "cells/cell_program.h"
#include "cells/evaluate.h"
#include "cells/model.h"

namespace volvox {

// One output of a request, in the order of Model::outputs: rows back to back.
struct ReferenceOutput {
  std::vector<double> reals;     // an f32 output
  std::vector<std::byte> bytes;  // an output of another type, as a client receives it
};

// The arithmetic of the reference: std::exp and std::tanh, and sums whose order is nobody's promise.
struct ReferenceMath {
  static double fma(double a, double b, double c) { return a * b + c; }
  static double sigmoid(double x);
  static double tanh(double x);
  static double chain(double start, const float* w, const double* x, std::size_t n);
};

// Whether served answers are right is decided here: a model's cells in double precision, step by step and one
// request at a time, with nothing that a device uses. Load the model with LoadOptions::eager = false, so that
// the split is not trusted either. A request of n steps takes about n · (weights of the cell) / 1.5e9
// seconds. One thread at a time may use it.
class Reference {
 public:
  static Result<Reference> make(std::shared_ptr<const Model> model);

  // inputs[i]: the rows of Model::inputs[i], back to back, as a client sends them. All inputs have the same
  // number of rows, at least one. `parents`: of the nodes of a tree, where the model takes trees. Fails on
  // what a server would refuse as well.
  Result<std::vector<ReferenceOutput>> run(std::span<const std::span<const std::byte>> inputs,
                                           std::span<const std::int32_t> parents = {});
  // For models with a single i32 input.
  Result<std::vector<ReferenceOutput>> run(std::span<const std::int32_t> tokens,
                                           std::span<const std::int32_t> parents = {});

 private:
  // The states of one lane, every step of them: nothing is reused, so nothing can be reused too early.
  struct Lane {
    CellTypeId type = 0;
    std::uint32_t length = 0, done = 0;
    std::vector<std::size_t> row_bytes{};           // for each state of the cell
    std::vector<std::vector<std::byte>> steps{};    // for each state: `length` rows
    std::vector<std::vector<std::byte>> initial{};  // for each gather operator: the initial value
  };
  struct Run {
    std::span<const std::span<const std::byte>> inputs;
    std::vector<Lane> lanes{};
    std::vector<ReferenceOutput> outputs{};
  };

  // A tree's states, those of all nodes, and who reads whom.
  struct TreeRun;
  struct TreeRow;

  // How many rows. `read`: whose ids are looked at; empty: all.
  Result<std::uint32_t> check_inputs(std::span<const std::span<const std::byte>> inputs,
                                     const std::vector<bool>& read) const;
  Result<std::vector<ReferenceOutput>> run_chain(std::span<const std::span<const std::byte>> inputs);
  Result<std::vector<ReferenceOutput>> run_tree(std::span<const std::span<const std::byte>> inputs,
                                                std::span<const std::int32_t> parents);
  void begin(TreeRun& run, std::span<const std::int32_t> parents) const;
  void bind_children(TreeRun& run, std::uint32_t node, TreeRow& bound) const;
  void bind_request(TreeRun& run, std::uint32_t node, TreeRow& bound) const;
  void run_node(TreeRun& run, std::uint32_t node);
  void begin(Run& run, std::uint32_t length) const;
  bool ready(const Run& run, std::size_t lane) const;
  void step(Run& run, std::size_t lane);
  const void* find_state(const Run& run, std::size_t lane, const Operator& op, std::size_t number) const;
  void find_list(const Run& run, std::size_t lane, const Operator& op, std::vector<const void*>& list) const;
  void bind_pulls(const Run& run, std::size_t lane, CellRow& row) const;
  void bind_pushes(Run& run, std::size_t lane, CellRow& row) const;

  std::shared_ptr<const Model> model_;
  std::vector<std::unique_ptr<CellProgram>> programs_;  // for each type; evaluators point at them
  std::vector<CellEvaluator<double, ReferenceMath>> evaluators_;
};

}  // namespace volvox
