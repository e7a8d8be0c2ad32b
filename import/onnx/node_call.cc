#include "import/onnx/node_call.h"

#include <algorithm>

#include "base/text.h"
#include "import/onnx/known.h"

namespace volvox::onnx_import {

const Quantity& NodeCall::in(std::size_t i) const {
  if (!has(i)) refuse("has no input " + std::to_string(i));
  return *inputs_[i];
}

KnownTensor NodeCall::known_in(std::size_t i) const {
  const Quantity& input = in(i);
  if (!input.is_known())
    refuse("input " + in_quotes(node.inputs[i]) + " depends on what the model is given, and must not");
  return input.known;
}

std::vector<std::int64_t> NodeCall::integers_in(std::size_t i) const {
  return as_integer(known_in(i))->integers;
}

float NodeCall::number_in(std::size_t i) const {
  const KnownTensor numbers = as_real(known_in(i));
  if (numbers->size() != 1) refuse("input " + in_quotes(node.inputs[i]) + " is no single number");
  return numbers->reals[0];
}

bool NodeCall::all_known() const {
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [](const auto& input) { return !input || input->is_known(); });
}

std::int64_t NodeCall::integer(std::string_view attribute, std::int64_t otherwise) const {
  const NodeAttribute* found = node.find(attribute);
  return found == nullptr ? otherwise : found->integer.value_or(otherwise);
}

float NodeCall::real(std::string_view attribute, float otherwise) const {
  const NodeAttribute* found = node.find(attribute);
  return found == nullptr ? otherwise : found->real.value_or(otherwise);
}

std::string NodeCall::text(std::string_view attribute, std::string_view otherwise) const {
  const NodeAttribute* found = node.find(attribute);
  return found == nullptr || found->text.empty() ? std::string(otherwise) : found->text;
}

std::vector<std::int64_t> NodeCall::integers(std::string_view attribute,
                                             std::vector<std::int64_t> otherwise) const {
  const NodeAttribute* found = node.find(attribute);
  return found == nullptr ? std::move(otherwise) : found->integers;
}

std::optional<std::vector<std::int64_t>> NodeCall::integers_of(std::string_view attribute,
                                                               std::size_t input) const {
  if (has(input)) return integers_in(input);
  const NodeAttribute* found = node.find(attribute);
  return found == nullptr ? std::nullopt : std::optional(found->integers);
}

std::int64_t NodeCall::index(std::int64_t written, std::int64_t extent) {
  if (written < -extent || written >= extent)
    refuse("element " + std::to_string(written) + " of an axis of " + std::to_string(extent));
  return written < 0 ? written + extent : written;
}

std::size_t NodeCall::axis(std::int64_t written, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (written < -axes || written >= axes)
    refuse("axis " + std::to_string(written) + " of a tensor with " + std::to_string(rank) + " axes");
  return static_cast<std::size_t>(written < 0 ? written + axes : written);
}

std::vector<std::int64_t> NodeCall::integers_for(std::string_view attribute, std::size_t count,
                                                 std::int64_t otherwise, std::int64_t most) const {
  auto all = integers(attribute);
  if (all.empty()) all.assign(count, otherwise);
  const std::string name(attribute);
  if (all.size() != count) refuse("its " + name + " are not those of its axes");
  if (std::ranges::any_of(all, [most](std::int64_t one) { return one < 0 || one > most; }))
    refuse("its " + name + " are too large, or less than 0");
  return all;
}

std::vector<std::size_t> NodeCall::reduced_axes(std::size_t rank) const {
  const auto written = integers_of("axes", 1).value_or(std::vector<std::int64_t>());
  std::vector<std::size_t> axes;
  for (const std::int64_t one : written) axes.push_back(axis(one, rank));
  if (axes.empty() && integer("noop_with_empty_axes", 0) == 0) {
    for (std::size_t each = 0; each < rank; ++each) axes.push_back(each);
  }
  return axes;
}

void keep_whole(NodeCall& call) {
  if (!call.in(0).is_known() || call.in(0).known->is_real()) return;
  const auto is_exact = [](auto number) { return number >= -kMostExact && number <= kMostExact; };
  bool exact = std::ranges::all_of(call.in(0).known->integers, is_exact);
  for (Quantity& made : call.outputs) {
    if (!made.is_known() || !made.known->is_real()) continue;
    exact = exact && std::ranges::all_of(made.known->reals, is_exact);
    made = known(as_integer(made.known));
  }
  if (!exact) refuse("computes with whole numbers beyond " + std::to_string(kMostExact));
}

const OpRule* find_rule(std::string_view op) {
  for (const auto* rules : op_rules()) {
    for (const OpRule& rule : *rules) {
      if (rule.op == op) return &rule;
    }
  }
  return nullptr;
}

}  // namespace volvox::onnx_import
