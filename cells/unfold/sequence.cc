#include "cells/unfold/sequence.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/text.h"
#include "cells/model/model.h"
#include "cells/unfold/plan_lanes.h"

namespace volvox {
namespace {

using Kind = SequenceSpec::Kind;

// The only one whose length a request must give; nothing: there are several.
std::optional<std::size_t> only_given(const Model& model) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < model.sequences.size(); ++i) {
    if (model.sequences[i].kind != Kind::kGiven) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// Those that a request can name.
std::string names_of(const Model& model) {
  std::string names;
  for (const SequenceSpec& sequence : model.sequences) {
    if (sequence.kind == Kind::kOnce) continue;
    names += (names.empty() ? "" : ", ") + in_quotes(sequence.name);
  }
  return names;
}

tl::unexpected<Error> wrong_kind(const Model& model) {
  if (only_given(model)) return invalid("this model unfolds along a chain; send a chain with its length");
  return invalid("this model unfolds along sequences; send their lengths by name: " + names_of(model));
}

Status check_length(const Model& model, std::size_t number, std::int64_t length) {
  const SequenceSpec& sequence = model.sequences[number];
  if (length >= std::int64_t{sequence.min_length} && length <= std::int64_t{sequence.max_length}) return {};
  const bool only = only_given(model) == number;
  return invalid((only ? "the chain's length" : "the length of the sequence " + in_quotes(sequence.name)) +
                 " must be between " + std::to_string(sequence.min_length) + " and " +
                 std::to_string(sequence.max_length) + " (the model's max_length), not " +
                 std::to_string(length));
}

Result<Extent> check_chain(const ChainStructure& chain, const Model& model) {
  const auto only = only_given(model);
  if (!only) return wrong_kind(model);
  if (Status fits = check_length(model, *only, chain.length); !fits) return tl::unexpected(fits.error());
  return Extent{.lengths = lengths_for(model, chain.length)};
}

Result<Extent> check_named(const SequencesStructure& sequences, const Model& model) {
  Extent extent{.lengths = lengths_for(model, 0)};
  for (std::size_t i = 0; i < sequences.names.size(); ++i) {
    const auto found =
        std::find_if(model.sequences.begin(), model.sequences.end(), [&](const SequenceSpec& sequence) {
          return sequence.kind != Kind::kOnce && sequence.name == sequences.names[i];
        });
    if (found == model.sequences.end()) {
      return invalid("there is no sequence " + in_quotes(std::string(sequences.names[i])) +
                     "; there are: " + names_of(model));
    }
    const auto number = static_cast<std::size_t>(found - model.sequences.begin());
    if (Status fits = check_length(model, number, sequences.lengths[i]); !fits)
      return tl::unexpected(fits.error());
    extent.lengths[number] = static_cast<std::uint32_t>(sequences.lengths[i]);
  }
  for (std::size_t i = 0; i < model.sequences.size(); ++i) {
    if (extent.lengths[i] == 0)
      return invalid("the length of the sequence " + in_quotes(model.sequences[i].name) +
                     " is missing; give it");
  }
  return extent;
}

class Sequence final : public Unfolding {
 public:
  std::string_view takes(const Model& model) const override {
    return only_given(model) ? "chain" : "sequences";
  }
  std::string_view row_name() const override { return "step"; }
  std::string_view last_row_name() const override { return "from the last step"; }

  Status validate(const Model& model) const override { return check_lanes(model); }

  Result<Extent> check(const Structure& structure, const Model& model) const override {
    if (const auto* chain = std::get_if<ChainStructure>(&structure)) return check_chain(*chain, model);
    if (const auto* named = std::get_if<SequencesStructure>(&structure)) return check_named(*named, model);
    return wrong_kind(model);
  }

  Result<std::shared_ptr<const NodeGraph>> nodes(const Structure&, const ModelNumbers&) const override {
    return nullptr;
  }
  std::uint64_t cells(const Model& model, const Lengths& lengths) const override {
    std::uint64_t cells = 0;
    for (const LaneSpec& lane : model.plan.lanes) cells += lengths[lane.length_of];
    return cells;
  }
  std::uint64_t slots(const Model& model, PoolId pool, const Lengths& lengths) const override {
    return lane_slots(model, pool, lengths);
  }
  ReferenceOrder reference_order(const Structure& structure, const Model& model) const override {
    return lane_reference_order(model.plan, check(structure, model)->lengths);
  }
};

}  // namespace

std::shared_ptr<const Unfolding> sequence_unfolding() {
  return std::make_shared<const Sequence>();
}

}  // namespace volvox
