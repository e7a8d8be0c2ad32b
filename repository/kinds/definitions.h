#pragma once

#include <string>
#include <utility>

#include "repository/kinds/model_kind.h"

namespace volvox {

// What the definitions of several kinds have in common.

inline constexpr std::uint8_t kTokenSizes = ModelKind::kHidden | ModelKind::kVocabulary;

// A cell with the sizes.
inline CellDefinition sized_cell(const std::string& name, const std::string& kind, const NewSizes& sizes) {
  return {.name = name, .kind = kind, .input = sizes.input, .hidden = sizes.hidden};
}

// A state of f32.
inline OutputDefinition state_output(const std::string& name, const NewSizes& sizes, bool every) {
  return {.name = name, .dtype = DType::kF32, .shape = Shape{sizes.hidden}, .every = every};
}

// One lane of one cell over i32 "tokens", with one output.
inline ModelDefinition one_lane(CellDefinition cell, const NewSizes& sizes, const std::string& output,
                                bool every) {
  ModelDefinition definition;
  definition.lanes.push_back({.cell = cell.name, .over = "tokens"});
  definition.inputs.push_back({.name = "tokens", .vocabulary = cell.hidden > 0 ? sizes.vocabulary : 0});
  definition.outputs.push_back(
      cell.hidden > 0
          ? state_output(output, sizes, every)
          : OutputDefinition{.name = output, .dtype = DType::kU64, .shape = Shape{}, .every = every});
  definition.cells.push_back(std::move(cell));
  return definition;
}

inline std::string layer_name(std::uint32_t layer) {
  return "layer" + std::to_string(layer);
}

}  // namespace volvox
