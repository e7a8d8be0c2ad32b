#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/text.h"
#include "cells/model/assembly.h"
#include "cells/model/model.h"
#include "cells/ops/ops.h"
#include "cells/unfold/lattice/lattice_plan.h"
#include "cells/unfold/unfolding.h"
#include "cells/unfold/wanted_rows.h"

namespace volvox {
namespace {

// The model's inputs, sequences and lengths of a request: of characters, then of words.
constexpr std::uint8_t kCharacters = 0, kWords = 1;

class LatticeUnfolding final : public Unfolding {
 public:
  // With the model's own numbers.
  explicit LatticeUnfolding(const LatticePlan& plan) : plan_(plan) {}

  std::string_view takes(const Model&) const override { return "lattice"; }
  std::string_view row_name() const override { return "character or word"; }
  std::string_view last_row_name() const override { return "of the last character"; }

  Status validate(const Model& model) const override {
    if (model.pools.size() != 1 || model.types.size() != 2 || model.sequences.size() != 2)
      return model_error(model, "a lattice has characters and words, and keeps their states in one pool");
    for (const CellTypeId type : {plan_.character, plan_.word}) {
      const bool word = type == plan_.word;
      const Cell& cell = model.types[type].cell;
      const std::string whose = word ? "words" : "characters";
      if (cell.gathers > 1 || (word && (cell.gathers_all || cell.pushes > 0)))
        return model_error(model, whose + ": their cell reads or writes what a lattice does not give");
      if (Status bound = check_bindings(model, type, plan_.pulls, plan_.pushes, whose); !bound) return bound;
    }
    return check_rows_alike(model, "a lattice", "the last character's");
  }

  Result<Extent> check(const Structure& structure, const Model& model) const override {
    const auto* lattice = std::get_if<LatticeStructure>(&structure);
    if (lattice == nullptr)
      return invalid("this model unfolds along a lattice; send one, with its words' starts and ends");
    const std::size_t words = lattice->starts.size(), nodes = lattice->length + words;
    if (nodes > model.max_length) {
      return invalid("the lattice must have at most " + std::to_string(model.max_length) +
                     " characters and words, not " + std::to_string(nodes));
    }
    if (Status sound = check_lattice(plan_, *lattice); !sound) return tl::unexpected(sound.error());
    Extent extent;
    extent.lengths[kCharacters] = lattice->length;
    extent.lengths[kWords] = static_cast<std::uint32_t>(words);
    extent.host_bytes = nodes * LatticePlan::kBytesPerNode + (nodes + words) * LatticePlan::kBytesPerEdge;
    return extent;
  }

  Result<std::shared_ptr<const NodeGraph>> nodes(const Structure& structure,
                                                 const ModelNumbers& numbers) const override {
    auto graph = unfold_lattice(plan_, std::get<LatticeStructure>(structure), numbers);
    if (!graph) return tl::unexpected(graph.error());
    return std::make_shared<const NodeGraph>(std::move(*graph));
  }
  std::span<const std::uint8_t> pulls() const override { return plan_.pulls; }
  std::span<const LanePush> pushes() const override { return plan_.pushes; }
  std::uint64_t cells(const Model&, const Lengths& lengths) const override {
    return std::uint64_t{lengths[kCharacters]} + lengths[kWords];
  }
  // All of its nodes at once; the scheduler finds the true number.
  std::uint64_t slots(const Model& model, PoolId, const Lengths& lengths) const override {
    return cells(model, lengths);
  }
  ReferenceOrder reference_order(const Structure& structure, const Model&) const override {
    return order_lattice(plan_, std::get<LatticeStructure>(structure));
  }

 private:
  LatticePlan plan_;
};

// Words come before the character with which they end, so they run first where both are ready.
Status build(Assembly& assembly) {
  const ModelDefinition& definition = assembly.definition();
  auto only = assembly.only_cell("lattice", "characters");
  if (!only) return tl::unexpected(only.error());
  Model& model = assembly.model();
  if (model.inputs.size() != 2) {
    return assembly.error(only->cell->line,
                          "input: a lattice has two, whose rows are its characters and its "
                          "words; here are " +
                              std::to_string(model.inputs.size()));
  }
  model.sequences = {{.name = "characters", .max_length = model.max_length},
                     {.name = "words", .max_length = model.max_length}};
  model.inputs[kWords].sequence = kWords;
  Cell &character = only->built[0], &word = only->built[1];
  LatticePlan plan{.character = 0, .word = 1, .max_words = only->cell->max_edges};
  std::array<std::uint8_t, kMaxPulls> of_words{};
  LaneDefinition characters = only->lane, words = only->lane;
  characters.pull = {definition.inputs[kCharacters].name};
  words.over = definition.inputs[kWords].name;
  words.pull = {words.over};
  std::vector<bool> written(model.outputs.size(), false);
  Status ok = assembly.map_pulls(character, characters, plan.pulls);
  if (ok) ok = assembly.map_pulls(word, words, of_words);
  if (ok) ok = assembly.map_pushes(character, only->lane, plan.pushes, written);
  if (ok) ok = assembly.check_written(written);
  if (!ok) return ok;
  plan.pulls = {kCharacters, kWords};
  for (Operator& op : word.operators) {
    if (op.is(kPullOp)) op.index = kWords;
  }
  word.pulls = kWords + 1;
  model.pools.push_back({character.states});
  model.types.push_back(assembly.type_of(*only->cell, std::move(character)));
  model.types.push_back(assembly.type_of(*only->cell, std::move(word)));
  ++model.types[plan.word].priority;
  model.unfolding = std::make_shared<const LatticeUnfolding>(plan);
  return {};
}

}  // namespace

extern const UnfoldingKind kLatticeUnfolding;
const UnfoldingKind kLatticeUnfolding{"lattice", build};

}  // namespace volvox
