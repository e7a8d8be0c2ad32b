#include "cells/unfold/lattice/lattice_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cells/unfold/unfolding.h"
#include "cells/unfold/wanted_rows.h"

namespace volvox {
namespace {

tl::unexpected<Error> wrong_word(std::size_t word, const LatticeStructure& lattice, const std::string& what) {
  return invalid("lattice word " + std::to_string(word) + " spans [" + std::to_string(lattice.starts[word]) +
                 ", " + std::to_string(lattice.ends[word]) + ")" + what);
}

std::size_t last_character(const LatticeStructure& lattice, std::size_t word) {
  return static_cast<std::size_t>(lattice.ends[word]) - 1;
}

}  // namespace

Status check_lattice(const LatticePlan& plan, const LatticeStructure& lattice) {
  if (lattice.length == 0) return invalid("the lattice has no characters; it needs at least one");
  if (lattice.starts.size() != lattice.ends.size())
    return invalid("the lattice has " + std::to_string(lattice.starts.size()) + " starts of words, but " +
                   std::to_string(lattice.ends.size()) + " ends");
  std::vector<std::uint32_t> words(lattice.length, 0);
  for (std::size_t word = 0; word < lattice.starts.size(); ++word) {
    const std::int64_t start = lattice.starts[word], end = lattice.ends[word];
    if (start < 0 || end > std::int64_t{lattice.length})
      return wrong_word(word, lattice, ", outside of " + std::to_string(lattice.length) + " characters");
    if (end - start < 2)
      return wrong_word(word, lattice, "; a word has two characters or more (its end is the one behind it)");
    if (++words[last_character(lattice, word)] > plan.max_words)
      return wrong_word(word, lattice,
                        ", where more than " + std::to_string(plan.max_words) +
                            " words end; that many are possible (max_edges)");
  }
  return {};
}

LatticeOrder::LatticeOrder(const LatticeStructure& lattice)
    : lattice_(lattice), words_(lattice.starts.size()), ends_(lattice.length + 1, 0), nodes_(lattice.length) {
  for (std::size_t word = 0; word < words_.size(); ++word) ++ends_[last_character(lattice, word) + 1];
  for (std::size_t i = 0; i < lattice.length; ++i) {
    ends_[i + 1] += ends_[i];
    nodes_[i] = static_cast<std::uint32_t>(i) + ends_[i + 1];  // behind the characters and words before it
  }
  std::vector<std::uint32_t> next(ends_.begin(), ends_.end() - 1);
  for (std::size_t word = 0; word < words_.size(); ++word)
    words_[next[last_character(lattice, word)]++] = static_cast<std::uint32_t>(word);
}

Result<NodeGraph> unfold_lattice(const LatticePlan& plan, const LatticeStructure& lattice,
                                 const ModelNumbers& numbers) {
  const auto [any, every] = wanted_rows(plan.pushes);
  const std::size_t words = lattice.starts.size();
  NodeGraph graph;
  graph.model = numbers.id;
  graph.pool = numbers.first_pool;
  graph.reserve(lattice.length + words, lattice.length + 2 * words);
  std::vector<NodeGraph::Edge> edges;
  const auto add_word = [&](std::uint32_t word, std::uint32_t first) {
    edges.assign(1, {first, 0});
    graph.add({.type = numbers.first_type + plan.word, .pull_row = word}, edges);
  };
  const auto add_character = [&, any = any, every = every](std::uint32_t character, std::uint32_t before,
                                                           std::uint32_t first_word, std::uint32_t count) {
    edges.clear();
    if (before != LatticeOrder::kNone) edges.push_back({before, 0});
    for (std::uint32_t k = 0; k < count; ++k) edges.push_back({first_word + k, NodeGraph::kRagged});
    graph.add({.type = numbers.first_type + plan.character,
               .pull_row = character,
               .push_row = every ? character : 0,
               .push = every || (any && character + 1 == lattice.length)},
              edges);
  };
  LatticeOrder(lattice).visit(add_word, add_character);
  if (Status sound = graph.finish(); !sound) return tl::unexpected(sound.error());
  return graph;
}

ReferenceOrder order_lattice(const LatticePlan& plan, const LatticeStructure& lattice) {
  ReferenceOrder order;
  const auto add_word = [&](std::uint32_t word, std::uint32_t first) {
    ReferenceOrder::Node node{.type = plan.word, .row = word, .sequence = 1, .pulls = plan.pulls};
    node.gathers[0] = first;
    order.nodes.push_back(node);
  };
  const auto add_character = [&](std::uint32_t character, std::uint32_t before, std::uint32_t first_word,
                                 std::uint32_t count) {
    ReferenceOrder::Node node{.type = plan.character,
                              .first_listed = static_cast<std::uint32_t>(order.list.size()),
                              .listed = count,
                              .row = character,
                              .answer_row = character,
                              .last = character + 1 == lattice.length,
                              .pulls = plan.pulls,
                              .pushes = plan.pushes};
    if (before != LatticeOrder::kNone) node.gathers[0] = before;
    for (std::uint32_t k = 0; k < count; ++k) order.list.push_back(first_word + k);
    order.nodes.push_back(node);
  };
  LatticeOrder(lattice).visit(add_word, add_character);
  return order;
}

}  // namespace volvox
