#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "cells/ir/lane_plan.h"
#include "cells/ir/node_graph.h"
#include "cells/unfold/reference_order.h"
#include "cells/unfold/unfolding.h"

namespace volvox {

// How the requests of one model unfold where their structure is a lattice (Zhang and Yang, 2018, §3.2): a
// node for each character, which reads the character before it and the words that end with it, and a node for
// each word, which reads its first character. Fixed at load, shared by all requests. All states are in one
// pool.
struct LatticePlan {
  CellTypeId character = 0, word = 0;
  // Inputs that pull 0 of characters and pull 1 of words read. A character's pulls are 0, and a word's are 1:
  // the nodes of a graph share their numbers.
  std::array<std::uint8_t, kMaxPulls> pulls{};
  std::array<LanePush, kMaxPushes> pushes{};    // of characters; every: character i writes row i
  std::uint32_t max_words = ~std::uint32_t{0};  // that end with one character

  // What a request's lattice takes of memory while it lives, unfolded and scheduled, at most.
  static constexpr std::size_t kBytesPerNode = 64, kBytesPerEdge = 16;
};

// Whether it is a lattice that the plan can unfold: words have two characters or more, lie within the
// characters, and no more of them end with one than may. INVALID_ARGUMENT names the word and says what to do.
// Linear time.
Status check_lattice(const LatticePlan& plan, const LatticeStructure& lattice);

// A lattice that has passed check_lattice(), in an order in which its cells can be computed: the words that
// end with a character, in the order of the request, then the character.
class LatticeOrder {
 public:
  explicit LatticeOrder(const LatticeStructure& lattice);

  // visit_word(word, node of its first character), visit_character(character, node of the one before or
  // kNone, its first word's node, number of words). Nodes are numbered as they are visited.
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  template <class Word, class Character>
  void visit(Word visit_word, Character visit_character) const {
    std::uint32_t node = 0, before = kNone;
    for (std::uint32_t i = 0; i < lattice_.length; ++i) {
      const std::uint32_t first_word = node;
      for (std::uint32_t at = ends_[i]; at < ends_[i + 1]; ++at, ++node)
        visit_word(words_[at], nodes_[static_cast<std::size_t>(lattice_.starts[words_[at]])]);
      visit_character(i, before, first_word, node - first_word);
      before = node++;
    }
  }

 private:
  LatticeStructure lattice_;
  std::vector<std::uint32_t> words_;  // by the character with which they end
  std::vector<std::uint32_t> ends_;   // words_[ends_[i] .. ends_[i + 1]) end with character i
  std::vector<std::uint32_t> nodes_;  // of each character
};

// The cell graph of such a lattice, and its cells as the reference computes them.
Result<NodeGraph> unfold_lattice(const LatticePlan& plan, const LatticeStructure& lattice,
                                 const ModelNumbers& numbers);
ReferenceOrder order_lattice(const LatticePlan& plan, const LatticeStructure& lattice);

}  // namespace volvox
