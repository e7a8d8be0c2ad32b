#include "repository/seeded_weights.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cells/library/cell_kind.h"
#include "cells/ops/ops.h"
#include "repository/random.h"

namespace volvox {
namespace {

bool is_chosen_among(const Cell& cell, ValueId value) {
  constexpr std::string_view kChoices[] = {"argmax", "top_k", "log_softmax"};
  return std::any_of(cell.operators.begin(), cell.operators.end(), [&](const Operator& op) {
    return std::ranges::find(kChoices, op.def->name) != std::end(kChoices) && op.inputs[0] == value;
  });
}

void add_product(const Cell& cell, const Operator& op, std::vector<WeightShape>& shapes) {
  const std::int64_t out = cell.values[op.output].shape.back();
  const std::size_t terms = op.weights.size() - (op.has_bias ? 1 : 0);
  for (std::size_t i = 0; i < terms; ++i) {
    shapes.push_back({.name = op.weights[i],
                      .shape = {out, cell.values[op.inputs[i]].shape.back()},
                      .makes_choice = is_chosen_among(cell, op.output)});
  }
  if (op.has_bias) shapes.push_back({.name = op.weights[terms], .shape = {out}});
}

// A definition's cells as the library builds them without weights.
Result<std::vector<WeightShape>> shapes_of(const CellDefinition& definition, const NewSizes& sizes,
                                           std::int64_t outputs) {
  const CellKind* kind = find_cell_kind(definition.kind);
  if (kind == nullptr) return invalid("there is no cell " + in_quotes(definition.kind));
  CellSizes wanted = sizes_of(definition);
  wanted.outputs = outputs;
  auto cells = kind->build(definition.name, wanted, nullptr, "");
  if (!cells) return tl::unexpected(cells.error());
  std::vector<WeightShape> all;
  for (const Cell& cell : *cells) {
    auto shapes = weight_shapes(cell, sizes.vocabulary);
    if (!shapes) return shapes;
    std::move(shapes->begin(), shapes->end(), std::back_inserter(all));
  }
  return all;
}

// Tables last, and each tensor once, whoever reads it.
Result<std::vector<WeightShape>> shapes_of(const ModelDefinition& definition, const NewSizes& sizes) {
  std::vector<WeightShape> all;
  std::set<std::string> known;
  // Who reads tokens says tokens; who reads numbers has labels for them.
  const bool reads_tokens =
      std::ranges::any_of(definition.inputs, [](const auto& input) { return input.dtype == DType::kI32; });
  const std::int64_t outputs = reads_tokens ? sizes.vocabulary : sizes.labels;
  for (const CellDefinition& cell : definition.cells) {
    auto shapes = shapes_of(cell, sizes, outputs);
    if (!shapes) return shapes;
    std::copy_if(shapes->begin(), shapes->end(), std::back_inserter(all),
                 [&](const WeightShape& shape) { return known.insert(shape.name).second; });
  }
  std::stable_partition(all.begin(), all.end(), [](const WeightShape& shape) { return !shape.is_table; });
  return all;
}

}  // namespace

Result<std::vector<WeightShape>> weight_shapes(const Cell& cell, std::int64_t table_rows) {
  std::vector<WeightShape> shapes;
  for (const Operator& op : cell.operators) {
    if (op.weights.empty()) continue;
    if (op.is(kProductOp) || op.is(kLinearOp)) {
      add_product(cell, op, shapes);
    } else if (op.is(kEmbedOp)) {
      const std::int64_t width = cell.values[op.output].shape.back();
      shapes.push_back({.name = op.weights[0], .shape = {table_rows, width}, .is_table = true});
    } else if (op.is(kConvolutionOp)) {
      shapes.push_back({.name = op.weights[0], .shape = op.convolution.weight_shape()});
      if (op.has_bias) shapes.push_back({.name = op.weights[1], .shape = {op.convolution.kernels}});
    } else if (op.is(kConstantOp)) {
      shapes.push_back({.name = op.weights[0], .shape = op.attributes.integers});
    } else {
      return invalid("cell " + in_quotes(cell.name) + ": nobody knows the shapes of the weights of a " +
                     in_quotes(std::string(op.def->name)));
    }
  }
  return shapes;
}

Result<SeededWeights> SeededWeights::make(const ModelDefinition& definition, const NewSizes& sizes) {
  auto shapes = shapes_of(definition, sizes);
  if (!shapes) return tl::unexpected(shapes.error());
  SeededWeights made;
  Random random(sizes.seed);
  const float bound = 1.0F / std::sqrt(static_cast<float>(sizes.hidden));
  for (WeightShape& weight : *shapes) {
    std::vector<float>& data = made.data_.emplace_back(static_cast<std::size_t>(elements(weight.shape)));
    const bool matrices = weight.is_table && weight.shape[1] > std::max(sizes.hidden, sizes.input);
    const float scale = matrices ? bound : 1.0F;
    for (float& x : data)
      x = weight.is_table || weight.makes_choice ? scale * random.normal() : random.uniform(bound);
    made.tensors_.push_back({std::move(weight.name), DType::kF32, std::move(weight.shape),
                             std::as_bytes(std::span(std::as_const(data)))});
  }
  return made;
}

}  // namespace volvox
