// Every kind of model that `volvox models new` writes: the same bits in whatever company, and the right ones.
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cells/model/reference.h"
#include "tests/unit/simulation/models.h"
#include "tests/unit/simulation/random_ways.h"

namespace volvox {
namespace {

using Ints = std::vector<std::int32_t>;

// Requests of one model, and the arrays of their structures.
class RandomRequests {
 public:
  RandomRequests(const Model& model, std::uint64_t seed) : model_(model), chance_(seed) {
    for (const CellTypeSpec& type : model.types) {
      const auto number = static_cast<std::int32_t>(names_.size());
      names_.push_back(type.name);
      if (type.cell.gathers == 0) leaves_.push_back(number);
      if (type.cell.gathers >= 2 || type.cell.gathers_all) inner_.push_back(number);
      binary_ = binary_ || type.cell.gathers >= 2;
      texts_ = texts_ || (type.cell.states.empty() && type.cell.gathers >= 2);
    }
    for (const SequenceSpec& sequence : model.sequences) sequences_.push_back(sequence.name);
  }

  ChainContent next() {
    ChainContent content;
    content.structure = random_structure();
    content.length = 1 + below(14);
    const auto lengths = lengths_of(model_, content);
    EXPECT_TRUE(lengths) << lengths.error().message;
    content.inputs = random_content(model_, *lengths, chance_).inputs;
    return content;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(chance_.below(bound)); }
  Ints& keep(Ints ints = {}) { return kept_.emplace_back(std::move(ints)); }

  Structure random_structure() {
    const std::string_view takes = model_.unfolding->takes(model_);
    if (takes == "lattice") return lattice(1 + below(20));
    if (takes.ends_with("tree")) return TreeStructure{tree()};
    if (takes == "graph") return texts_ ? text(1 + below(8)) : graph();
    if (takes != "sequences") return NoStructure{};
    SequencesStructure structure;
    Ints& lengths = keep();
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      if (model_.sequences[i].kind != SequenceSpec::Kind::kGiven) continue;
      structure.names.push_back(sequences_[i]);
      lengths.push_back(static_cast<std::int32_t>(1 + below(14)));
    }
    structure.lengths = lengths;
    return structure;
  }

  Structure lattice(std::uint32_t characters) {
    Ints &starts = keep(), &ends = keep();
    for (std::uint32_t words = characters < 2 ? 0 : below(2 * characters); words > 0; --words) {
      const std::uint32_t start = below(characters - 1);
      starts.push_back(static_cast<std::int32_t>(start));
      ends.push_back(static_cast<std::int32_t>(start + 2 + below(characters - start - 1)));
    }
    return LatticeStructure{characters, starts, ends};
  }

  // Children before parents; where the model's trees are binary, two for each.
  const Ints& tree() {
    Ints& parents = keep();
    Ints open;
    std::uint32_t left = 1 + below(12);
    while (left > 0 || open.size() > 1) {
      std::size_t children = 0;
      if (left == 0 || (open.size() > 1 && below(2) == 0)) {
        children = binary_ ? 2 : 1 + below(static_cast<std::uint32_t>(open.size()));
      } else {
        --left;
      }
      const auto node = static_cast<std::int32_t>(parents.size());
      for (; children > 0; --children, open.pop_back()) parents[static_cast<std::size_t>(open.back())] = node;
      parents.push_back(-1);
      open.push_back(node);
    }
    return parents;
  }

  Structure graph() {
    const Ints& parents = tree();
    Ints &types = keep(), &offsets = keep({0}), &before = keep();
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(parents.size()); ++node) {
      for (std::int32_t child = 0; child < node; ++child) {
        if (parents[static_cast<std::size_t>(child)] == node) before.push_back(child);
      }
      const Ints& fitting = offsets.back() == static_cast<std::int32_t>(before.size()) ? leaves_ : inner_;
      types.push_back(fitting[below(static_cast<std::uint32_t>(fitting.size()))]);
      offsets.push_back(static_cast<std::int32_t>(before.size()));
    }
    return GraphStructure{{names_.begin(), names_.end()}, types, offsets, before};
  }

  // Of a char_tagger, whose types come in this order: characters, words ahead, words back, labels.
  Structure text(std::uint32_t words) {
    Ints &types = keep(), &offsets = keep({0}), &before = keep();
    const auto add = [&](std::int32_t type, std::int32_t first, std::int32_t second) {
      types.push_back(type);
      for (const std::int32_t node : {first, second}) {
        if (node >= 0) before.push_back(node);
      }
      offsets.push_back(static_cast<std::int32_t>(before.size()));
      return static_cast<std::int32_t>(types.size()) - 1;
    };
    Ints ends, ahead;
    for (; ends.size() < words; ahead.push_back(add(1, ends.back(), ahead.empty() ? -1 : ahead.back()))) {
      std::int32_t last = -1;
      for (std::uint32_t left = 1 + below(6); left > 0; --left) last = add(0, last, -1);
      ends.push_back(last);
    }
    std::int32_t behind = -1;
    for (std::size_t word = words; word-- > 0;) {
      behind = add(2, ends[word], behind);
      add(3, ahead[word], behind);
    }
    return GraphStructure{{names_.begin(), names_.end()}, types, offsets, before};
  }

  const Model& model_;
  SeededRandom chance_;
  std::vector<std::string> names_, sequences_;
  Ints leaves_, inner_;
  bool binary_ = false, texts_ = false;
  std::deque<Ints> kept_;
};

// Reals nearly as the reference has them, others exactly.
void expect_output(const ReferenceOutput& exact, const std::byte* answer) {
  for (std::size_t k = 0; k < exact.reals.size(); ++k) {
    float value = 0;
    std::memcpy(&value, answer + k * sizeof value, sizeof value);
    ASSERT_NEAR(value, exact.reals[k], 1e-4) << k;
  }
  ASSERT_TRUE(std::equal(exact.bytes.begin(), exact.bytes.end(), answer));
}

void expect_right(const std::shared_ptr<const Model>& model, std::span<const ChainContent> contents,
                  const Answers& answers) {
  InstalledModel installed;
  installed.model = model;
  auto reference = Reference::make(model);
  ASSERT_TRUE(reference) << reference.error().message;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    std::vector<std::span<const std::byte>> inputs(contents[i].inputs.begin(), contents[i].inputs.end());
    const auto exact = reference->run(inputs, structure_of(contents[i]));
    ASSERT_TRUE(exact) << exact.error().message;
    for (std::size_t output = 0; output < model->outputs.size(); ++output) {
      const std::size_t at = result_offset(installed, lengths_of(*model, contents[i]).value(), output);
      ASSERT_NO_FATAL_FAILURE(expect_output((*exact)[output], answers[i].data() + at));
    }
  }
}

class EachKind : public testing::TestWithParam<std::string> {
 protected:
  // Other requests and ways with --gtest_shuffle, in each of --gtest_repeat's rounds. Those are not compared
  // with the reference: among so many beams some two are nearly equal, and double precision may keep the
  // other.
  void check(bool every, std::uint64_t seed) {
    const auto round = static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed());
    seed += 100 * round;
    const std::string kind = GetParam();
    const NewSizes sizes{.hidden = 11, .input = 7, .vocabulary = 30, .steps = 12, .labels = 5};
    ModelFolder folder;
    const auto load = [&](const LoadOptions& options) {
      return folder.make(kind.c_str(), sizes, options, every);
    };
    const auto model = load({.eager = false});
    RandomRequests requests(*model, seed);
    std::vector<ChainContent> contents;
    while (contents.size() < 100) contents.push_back(requests.next());
    const Answers right = answers_in({.max_batch = 1, .in_flight = 1, .eager = false}, load, contents);
    ASSERT_EQ(right.size(), contents.size());
    if (round == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_right(model, contents, right));
    }
    SeededRandom chance(seed);
    for (int i = 0; i < 6; ++i) {
      Way way = random_way(chance);
      way.padded = way.padded && !model->plan.lanes.empty();  // a graph cannot be padded
      expect_same_answers(answers_in(way, load, contents), right, way);
    }
  }
};

TEST_P(EachKind, HasTheSameBitsInAnyCompany) {
  check(false, 3);
  if (find_model_kind(GetParam())->may_push_every) check(true, 4);
}

std::vector<std::string> all_kinds() {
  std::vector<std::string> names;
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) names.emplace_back(kind.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kinds, EachKind, testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace volvox
