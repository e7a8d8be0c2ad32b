#include "import/onnx/converted.h"

#include <cctype>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "base/text.h"
#include "cells/model/assemble.h"
#include "import/onnx/known.h"
#include "repository/cell_file.h"
#include "repository/model_toml.h"

namespace volvox::onnx_import {

std::string plain_name(const std::string& name) {
  std::string made;
  for (const char c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    made += fits ? c : '_';
  }
  if (made.empty() || std::isalnum(static_cast<unsigned char>(made.front())) == 0)
    made.insert(made.begin(), 'x');
  return made.substr(0, 64);
}

bool is_real_input(std::int32_t type) {
  return type == kFloat || type == kFloat16 || type == kBfloat16 || type == kDouble;
}

bool is_whole_input(std::int32_t type) {
  return type == kInt32 || type == kInt64;
}

Shape given_shape(const GraphInput& input, const Shape& given) {
  bool fits = input.shape.empty() || input.shape.size() == given.size();  // none written: any
  for (std::size_t axis = 0; fits && axis < input.shape.size(); ++axis)
    fits = input.shape[axis].value_or(given[axis]) == given[axis];
  if (fits) return given;
  Shape written;
  for (const auto& extent : input.shape) written.push_back(extent.value_or(-1));
  refuse("input " + in_quotes(input.name) + " has the shape " + to_string(written) +
         " in the file, where -1 is open: it cannot be " + to_string(given));
}

Quantity given_constant(const GraphInput& input, const Shape* given, const std::vector<double>& written) {
  Shape shape;
  std::vector<std::size_t> open;
  for (const auto& extent : input.shape) {
    if (!extent) open.push_back(shape.size());
    shape.push_back(extent.value_or(1));
  }
  if (given != nullptr) {
    shape = given_shape(input, *given);
    open.clear();
  }
  std::vector<double> numbers = written;
  const auto count = static_cast<std::int64_t>(numbers.size());
  const std::int64_t others = checked_elements(shape);
  if (count == 1) {
    numbers.assign(static_cast<std::size_t>(others), written[0]);
  } else if (open.size() == 1 && others > 0 && count % others == 0) {
    shape[open.front()] = count / others;
  } else if (others != count) {
    refuse("the constant " + in_quotes(input.name) + " has " + std::to_string(count) +
           " numbers, its shape " + to_string(shape) + " takes one for all, or " + std::to_string(others) +
           (open.empty() ? "" : "; say with --shape what the file leaves open"));
  }
  if (is_real_input(input.type)) return known_reals(shape, {numbers.begin(), numbers.end()});
  std::vector<std::int64_t> whole;
  for (const double number : numbers) {
    if (number != std::floor(number))
      refuse("the constant " + in_quotes(input.name) + " is of whole numbers, not of " +
             std::to_string(number));
    whole.push_back(std::llround(number));
  }
  return known_integers(shape, std::move(whole));
}

void add_weights(ConvertedOnnx& converted, std::vector<CellWriter::Weight> weights) {
  for (CellWriter::Weight& weight : weights) {
    converted.weights.push_back(
        {std::move(weight.name), std::move(weight.shape), {weight.numbers, &weight.numbers->reals}});
  }
}

std::string report_of(const std::vector<CellWriter::Weight>& weights) {
  std::size_t numbers = 0;
  for (const CellWriter::Weight& weight : weights) numbers += weight.numbers->size();
  return "weights: " + std::to_string(weights.size()) + " tensors, " + std::to_string(numbers) + " numbers\n";
}

std::string origin_of(const OnnxModel& model) {
  std::string text = "opset " + std::to_string(model.opset);
  if (!model.producer.empty()) text += ", written by " + model.producer;
  return text + ": ";
}

Status check(const ConvertedOnnx& converted) {
  std::map<std::string, Tensor, std::less<>> tensors;
  for (const ConvertedOnnx::Weight& weight : converted.weights)
    tensors[weight.name] = {DType::kF32, weight.shape, std::as_bytes(std::span(*weight.numbers))};
  ModelDefinition named = converted.definition;
  named.name = "model";
  // What is written is read again, with the bounds of files.
  auto read = parse_model_definition(to_toml(named), "model.toml");
  if (!read) return tl::unexpected(read.error());
  for (const CellDefinition& cell : named.cells) {
    if (cell.given == nullptr) continue;
    if (auto again = parse_cell(to_json(*cell.given), cell.name + ".cell.json"); !again)
      return tl::unexpected(again.error());
  }
  const auto model = assemble(named, Weights(std::move(tensors), nullptr), {}, "model.toml");
  return model ? Status{} : tl::unexpected(model.error());
}

}  // namespace volvox::onnx_import
