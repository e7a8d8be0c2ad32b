#include "import/onnx/converted.h"

#include <cctype>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "cells/model/assemble.h"

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
  constexpr std::int32_t kFloat = 1, kFloat16 = 10, kDouble = 11;
  return type == kFloat || type == kFloat16 || type == kDouble;
}

bool is_whole_input(std::int32_t type) {
  constexpr std::int32_t kInt32 = 6, kInt64 = 7;
  return type == kInt32 || type == kInt64;
}

Quantity given_constant(const Shape& wanted, const std::vector<double>& written, bool real) {
  Shape shape = wanted;
  std::vector<double> numbers = written;
  if (numbers.size() == 1) {
    numbers.assign(static_cast<std::size_t>(elements(shape)), written[0]);
  } else if (elements(shape) != static_cast<std::int64_t>(numbers.size())) {
    shape = {static_cast<std::int64_t>(numbers.size())};
  }
  if (real) return known_reals(shape, {numbers.begin(), numbers.end()});
  std::vector<std::int64_t> whole;
  for (const double number : numbers) whole.push_back(std::llround(number));
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
  const auto model = assemble(named, Weights(std::move(tensors), nullptr), {}, "model.toml");
  return model ? Status{} : tl::unexpected(model.error());
}

}  // namespace volvox::onnx_import
