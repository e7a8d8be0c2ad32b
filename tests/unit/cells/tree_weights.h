#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/cells/random_weights.h"

namespace volvox {

// Of the cells "t.leaf" and "t.internal" of a binary TreeLSTM.
inline Weights tree_lstm_weights(RandomWeights made, std::int64_t input, std::int64_t hidden) {
  return made.add("t.leaf.embedding", {kVocabulary, input})
      .add("t.leaf.weight", {3 * hidden, input})
      .add("t.leaf.bias", {3 * hidden})
      .add("t.internal.left", {5 * hidden, hidden})
      .add("t.internal.right", {5 * hidden, hidden})
      .add("t.internal.bias", {5 * hidden})
      .weights();
}

// Of the cell "sum", a child-sum TreeLSTM's.
inline Weights child_sum_weights(RandomWeights made, std::int64_t input, std::int64_t hidden) {
  return made.add("sum.embedding", {kVocabulary, input})
      .add("sum.weight", {3 * hidden, input})
      .add("sum.children", {3 * hidden, hidden})
      .add("sum.bias", {3 * hidden})
      .add("sum.forget_weight", {hidden, input})
      .add("sum.forget_child", {hidden, hidden})
      .add("sum.forget_bias", {hidden})
      .weights();
}

// Of the cell "g", a child-sum TreeGRU's.
inline Weights tree_gru_weights(RandomWeights made, std::int64_t input, std::int64_t hidden) {
  made.add("g.embedding", {kVocabulary, input});
  for (const char* gate : {"g.", "g.update_", "g.reset_"}) {
    const std::string prefix = gate;
    made.add(prefix + "weight", {hidden, input}).add(prefix + "bias", {hidden});
    made.add(prefix + (prefix == "g.reset_" ? "child" : "children"), {hidden, hidden});
  }
  return made.weights();
}

}  // namespace volvox
