#include <utility>

#include "repository/kinds/definitions.h"

namespace volvox {
namespace {

// One cell over rows of numbers that know nothing of each other: a request brings some, and each is answered.
ModelDefinition over_rows(CellDefinition cell, Shape row, const NewSizes& sizes) {
  ModelDefinition definition;
  definition.lanes.push_back({.cell = cell.name, .over = "x"});
  definition.inputs.push_back({.name = "x", .dtype = DType::kF32, .shape = std::move(row)});
  definition.outputs.push_back(
      {.name = "scores", .dtype = DType::kF32, .shape = Shape{sizes.labels}, .every = true});
  definition.cells.push_back(std::move(cell));
  return definition;
}

ModelDefinition mlp(const NewSizes& sizes, bool) {
  return over_rows(sized_cell("mlp", "mlp", sizes), {sizes.input}, sizes);
}
ModelDefinition cnn(const NewSizes& sizes, bool) {
  return over_rows(sized_cell("cnn", "cnn", sizes), {1, sizes.input, sizes.input}, sizes);
}

constexpr std::uint8_t kRowSizes = ModelKind::kHidden | ModelKind::kLabels;

constexpr ModelKind kKinds[] = {
    {"mlp", "a perceptron with two hidden layers over rows of numbers", kRowSizes, false, 0, mlp},
    {"cnn", "a small convolutional net over square images, 28 wide unless --input says more or less",
     kRowSizes, false, 0, cnn, 28}};

}  // namespace

extern const std::span<const ModelKind> kRowsModels;
const std::span<const ModelKind> kRowsModels = kKinds;

}  // namespace volvox
