#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/cell_writer.h"
#include "import/onnx/graph.h"

namespace volvox::onnx_import {

// One node of a graph, for what writes it into a cell: its inputs in their order, its attributes, and where
// its outputs go.
class NodeCall {
 public:
  NodeCall(CellWriter& writer, const Node& node, std::int64_t opset,
           std::vector<std::optional<Quantity>> inputs)
      : writer(writer), node(node), opset(opset), inputs_(std::move(inputs)) {}

  CellWriter& writer;
  const Node& node;
  const std::int64_t opset;
  std::vector<Quantity> outputs{};  // as many as it likes: those that the node names are kept

  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].has_value(); }
  const Quantity& in(std::size_t i) const;
  // What must be known beforehand.
  KnownTensor known_in(std::size_t i) const;
  std::vector<std::int64_t> integers_in(std::size_t i) const;
  float number_in(std::size_t i) const;
  bool all_known() const;

  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  float real(std::string_view attribute, float otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view attribute,
                                     std::vector<std::int64_t> otherwise = {}) const;
  // In newer opsets an input, in older ones an attribute; nothing if neither is there.
  std::optional<std::vector<std::int64_t>> integers_of(std::string_view attribute, std::size_t input) const;
  // So many, none below 0 or beyond `most`; none written: each is `otherwise`.
  std::vector<std::int64_t> integers_for(std::string_view attribute, std::size_t count,
                                         std::int64_t otherwise, std::int64_t most) const;
  // The axes that a reduction of this rank goes over; none written: all of them.
  std::vector<std::size_t> reduced_axes(std::size_t rank) const;
  // An axis as it may be written, from the end as well, of so many.
  static std::size_t axis(std::int64_t written, std::size_t rank);
  // An element of an axis, from its end where negative; refused where there is none.
  static std::int64_t index(std::int64_t written, std::int64_t extent);

 private:
  std::vector<std::optional<Quantity>> inputs_;
};

// Where the first input is known and whole, what was made of it is whole, too. Cells compute in reals, which
// are exact up to 2^24: refuses what is larger.
void keep_whole(NodeCall& call);

// How an operator of ONNX becomes operators of cells. Each source in import/onnx/ops has some, k<File>Rules,
// and nothing else names them.
struct OpRule {
  std::string_view op{};
  void (*write)(NodeCall& call) = nullptr;  // refuses what it cannot
  std::string_view limits{};                // what it does not take, for people
};

std::span<const std::span<const OpRule>* const> op_rules();
const OpRule* find_rule(std::string_view op);

}  // namespace volvox::onnx_import
