#include "repository/kinds/definitions.h"

namespace volvox {
namespace {

template <const char* kKind, const char* kUnfolding>
ModelDefinition over_nodes(const NewSizes& sizes, bool every) {
  ModelDefinition definition = one_lane(sized_cell("tree", kKind, sizes), sizes, "h", every);
  definition.unfolding = kUnfolding;
  return definition;
}

template <const char* kKind>
ModelDefinition over_lattices(const NewSizes& sizes, bool every) {
  ModelDefinition definition{.unfolding = "lattice"};
  definition.cells.push_back(sized_cell("lattice", kKind, sizes));
  for (const char* rows : {"characters", "words"})
    definition.inputs.push_back({.name = rows, .vocabulary = sizes.vocabulary});
  definition.outputs.push_back(state_output("h", sizes, every));
  return definition;
}

// Words of characters, and a label for each. Lanes cannot say it: a word's step reads the character with
// which the word ends, whichever that is.
ModelDefinition char_tagger(const NewSizes& sizes, bool) {
  ModelDefinition definition{.unfolding = "graph"};
  definition.cells = {
      sized_cell("words", "word_lstm", sizes),
      {.name = "label", .kind = "word_tagger", .input = sizes.hidden, .hidden = sizes.labels}};
  definition.inputs.push_back({.name = "tokens", .vocabulary = sizes.vocabulary});
  definition.outputs.push_back({.name = "label", .every = true});
  return definition;
}

constexpr char kTree[] = "tree", kGraph[] = "graph";
constexpr char kTreeLstm[] = "tree_lstm", kChildSum[] = "child_sum", kTreeGru[] = "tree_gru",
               kTreeFc[] = "tree_fc", kMvRnn[] = "mv_rnn", kTwoTypes[] = "tree_lstm_2type",
               kLatticeLstm[] = "lattice_lstm", kLatticeGru[] = "lattice_gru";

constexpr ModelKind kKinds[] = {
    {kTreeLstm, "a TreeLSTM over binary trees, tokens at the leaves", kTokenSizes, true, 0,
     over_nodes<kTreeLstm, kTree>},
    {kChildSum, "a TreeLSTM over any trees, a token at every node", kTokenSizes, true, 0,
     over_nodes<kChildSum, kTree>},
    {kTreeGru, "a GRU over any trees, a token at every node", kTokenSizes, true, 0,
     over_nodes<kTreeGru, kTree>},
    {kTreeFc, "fully connected layers over binary trees", kTokenSizes, true, 0, over_nodes<kTreeFc, kTree>},
    {kMvRnn, "vectors and matrices over binary trees", kTokenSizes, true, 0, over_nodes<kMvRnn, kTree>},
    {kTwoTypes, "a TreeLSTM over graphs, with inner nodes of two types", kTokenSizes, true, 0,
     over_nodes<kTwoTypes, kGraph>},
    {"char_tagger", "LSTMs along the characters of each word and along the words, and a label of each word",
     kTokenSizes | ModelKind::kLabels, false, 0, char_tagger},
    {kLatticeLstm, "a Lattice LSTM over characters and words", kTokenSizes, true, 0,
     over_lattices<kLatticeLstm>},
    {kLatticeGru, "the same with GRUs", kTokenSizes, true, 0, over_lattices<kLatticeGru>}};

}  // namespace

extern const std::span<const ModelKind> kGraphsModels;
const std::span<const ModelKind> kGraphsModels = kKinds;

}  // namespace volvox
