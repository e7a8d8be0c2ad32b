#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "import/onnx/cell_writer.h"

namespace volvox::onnx_import {

// A lane of the model to come, and its cell as far as it is written.
struct LaneDraft {
  static constexpr std::size_t kNoLane = ~std::size_t{0};

  explicit LaneDraft(std::shared_ptr<WeightBook> weights) : cell(std::move(weights)) {}

  // A result that the cell emits.
  struct Push {
    std::string output{};
    bool every = false;
  };

  std::string name{};
  CellWriter cell;
  bool reverse = false;
  bool once = false;  // one step, after all of the sequence
  // What it reads: of gather i + 1 the lane and which step of it, of pull i the model's input.
  std::vector<std::pair<std::size_t, bool>> from{};
  std::size_t all = kNoLane;  // the lane that it reads as a whole
  std::vector<std::uint32_t> pulls{};
  std::vector<Push> pushes{};
  std::size_t initial = kNoLane;             // the lane whose last state stands before the first step
  std::map<std::string, Quantity> states{};  // what it keeps, as values of the cell
};

}  // namespace volvox::onnx_import
