#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/model/model_definition.h"
#include "repository/kinds/model_kind.h"
#include "repository/safetensors.h"

namespace volvox {

// A tensor that a cell reads.
struct WeightShape {
  std::string name{};
  Shape shape{};
  bool is_table = false;      // rows that are looked up
  bool makes_choice = false;  // of a product of which the largest element is chosen
};

// Those of a cell built without weights, in the order of its operators; tables get so many rows. An error
// names an operator whose weights' shapes are not known here.
Result<std::vector<WeightShape>> weight_shapes(const Cell& cell, std::int64_t table_rows);

// Weights for all cells of a definition, the same bytes everywhere from the same seed: uniform in
// ±1/√hidden of the model; tables, and what makes a choice, nearly normal with variance 1, so that a choice
// depends on what was read; tables of matrices (wider than hidden and input) with variance 1/hidden.
class SeededWeights {
 public:
  static Result<SeededWeights> make(const ModelDefinition& definition, const NewSizes& sizes);

  SeededWeights(SeededWeights&&) = default;  // never copied: the tensors view the data
  std::span<const TensorSource> tensors() const { return tensors_; }

 private:
  SeededWeights() = default;

  std::vector<std::vector<float>> data_;
  std::vector<TensorSource> tensors_;
};

}  // namespace volvox
