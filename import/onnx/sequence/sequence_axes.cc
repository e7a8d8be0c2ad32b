#include "import/onnx/sequence/sequence_axes.h"

#include <algorithm>

namespace volvox::onnx_import {
namespace {

// Attention has a softmax.
bool goes_along(const Node& node, bool loops) {
  return loops ? node.op == "Scan" || node.op == "Loop"
               : node.op == "LSTM" || node.op == "GRU" || node.op == "RNN" || node.op == "Conv" ||
                     node.op == "ConvTranspose" || node.op == "Softmax";
}

bool recurs(const Graph& graph, bool loops) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (goes_along(node, loops)) return true;
    return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& one) {
      return one.second.graph != nullptr && recurs(*one.second.graph, loops);
    });
  });
}

// Which axes may be those of the sequence, one guess after another.
class Guesses {
 public:
  Guesses(const OnnxImport& wanted, const Graph& graph) : wanted_(wanted), graph_(graph) {}

  std::vector<SequenceAxes> all() const {
    std::vector<SequenceAxes> guesses;
    const bool loops = recurs(graph_, true);
    for (const GraphInput& input : graph_.inputs) {
      if (!wanted_.sequences.empty() && !wanted_.sequences.contains(input.name)) continue;
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        if (may_be(input, axis)) add(guesses, of_symbol(input, axis));
      }
    }
    // What loops goes along a known extent as well, and so does what is named.
    for (const GraphInput& input : graph_.inputs) {
      const bool named = wanted_.sequences.contains(input.name);
      if (!named && (!loops || !wanted_.sequences.empty())) continue;
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        if (input.shape[axis] && fits_named(input, axis)) add(guesses, of_extent(axis, *input.shape[axis]));
      }
    }
    return guesses;
  }

 private:
  bool is_given(const GraphInput& input) const { return wanted_.constants.contains(input.name); }
  bool fits_named(const GraphInput& input, std::size_t axis) const {
    const auto named = wanted_.sequences.find(input.name);
    return named == wanted_.sequences.end() || named->second.value_or(axis) == axis;
  }
  bool may_be(const GraphInput& input, std::size_t axis) const {
    return !input.shape[axis] && !is_given(input) && !wanted_.shapes.contains(input.name) &&
           fits_named(input, axis);
  }

  SequenceAxes of_symbol(const GraphInput& input, std::size_t axis) const {
    SequenceAxes axes{{input.name, axis}};
    const std::string& symbol = input.symbols[axis];
    for (const GraphInput& other : graph_.inputs) {
      for (std::size_t i = 0; i < other.shape.size() && !symbol.empty(); ++i) {
        if (may_be(other, i) && other.symbols[i] == symbol) axes.try_emplace(other.name, i);
      }
    }
    return with_named(axes);
  }
  SequenceAxes of_extent(std::size_t axis, std::int64_t extent) const {
    SequenceAxes axes;
    for (const GraphInput& other : graph_.inputs) {
      if (!is_given(other) && axis < other.shape.size() && other.shape[axis] == extent)
        axes.try_emplace(other.name, axis);
    }
    return with_named(axes);
  }
  SequenceAxes with_named(SequenceAxes axes) const {
    for (const auto& [name, axis] : wanted_.sequences) {
      if (axis) axes[name] = *axis;
    }
    return axes;
  }
  static void add(std::vector<SequenceAxes>& guesses, const SequenceAxes& axes) {
    constexpr std::size_t kMostGuesses = 8;
    const bool known = std::find(guesses.begin(), guesses.end(), axes) != guesses.end();
    if (!known && !axes.empty() && guesses.size() < kMostGuesses) guesses.push_back(axes);
  }

  const OnnxImport& wanted_;
  const Graph& graph_;
};

}  // namespace

std::vector<SequenceAxes> guess_sequences(const OnnxImport& wanted, const Graph& graph) {
  return recurs(graph, false) || recurs(graph, true) ? Guesses(wanted, graph).all()
                                                     : std::vector<SequenceAxes>();
}

}  // namespace volvox::onnx_import
