#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/onnx/cell_writer.h"
#include "import/onnx/graph.h"

namespace volvox::onnx_import {

// An input of a graph of one step.
struct StepInput {
  std::string name{};
  Shape shape{};
  DType dtype = DType::kF32;
  std::optional<Quantity> constant{};
  // The axis that the file leaves open and that was taken for the batch: a step has one row along it.
  std::optional<std::size_t> batch{};
};

using StatePairs = std::map<std::string, std::string>;  // input by output

// A graph can put together what lies along an axis that was taken for a batch: then a cell that runs its rows
// one by one computes something else than it. Whether these outputs and states do so, found out by computing
// with random numbers: two rows at once must make what each makes alone, or, where states follow, what one
// makes after the other. False as well where that cannot be told, as when the graph takes one row only, or
// makes no finite numbers.
bool mixes_batch(const OnnxModel& model, const std::vector<StepInput>& inputs,
                 const std::vector<std::string>& outputs, const StatePairs& states);

}  // namespace volvox::onnx_import
