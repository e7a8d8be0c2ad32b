#include "shapes/graphs.h"

#include <algorithm>
#include <initializer_list>

namespace volvox {
namespace {

// Adds a node and returns its number.
std::int32_t add_node(GraphSource::Graph& graph, std::int32_t type,
                      std::initializer_list<std::int32_t> before) {
  graph.types.push_back(type);
  for (const std::int32_t node : before) {
    if (node >= 0) graph.predecessors.push_back(node);
  }
  graph.offsets.push_back(static_cast<std::int32_t>(graph.predecessors.size()));
  return static_cast<std::int32_t>(graph.types.size() - 1);
}

}  // namespace

std::vector<GraphCellType> graph_cell_types(const Model& model) {
  std::vector<GraphCellType> types;
  for (const CellTypeSpec& type : model.types) {
    const Cell& cell = type.cell;
    types.push_back({.name = type.name,
                     .is_leaf = cell.gathers == 0,
                     .is_inner = cell.gathers >= 2,
                     .reads_any = cell.gathers_all,
                     .is_step = cell.gathers == 1 && cell.pulls > 0,
                     .keeps_none = cell.states.empty()});
  }
  return types;
}

bool joins_two(const std::vector<GraphCellType>& types) {
  return std::ranges::any_of(types,
                             [](const GraphCellType& type) { return type.is_inner && !type.reads_any; });
}

Result<GraphSource> GraphSource::make(TreeSource trees, const std::vector<GraphCellType>& types) {
  GraphSource source(std::move(trees));
  source.types_ = types;
  for (const GraphCellType& type : types) {
    const auto number = static_cast<std::int32_t>(source.names_.size());
    source.names_.push_back(type.name);
    if (type.is_leaf) source.leaves_.push_back(number);
    if (type.is_inner || type.reads_any) source.inner_.push_back(number);
  }
  const bool fits = source.leaves_.empty() ? source.find_text_types() : !source.inner_.empty();
  if (!fits) return invalid("no graph of two or more nodes can be made of this model's cells");
  return source;
}

bool GraphSource::find_text_types() {
  std::vector<std::int32_t> steps, directions, ends;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const GraphCellType& type = types_[i];
    const auto number = static_cast<std::int32_t>(i);
    if (type.is_step && !type.keeps_none) steps.push_back(number);
    if (type.is_inner) (type.keeps_none ? ends : directions).push_back(number);
  }
  if (steps.size() != 1 || directions.size() != 2 || ends.size() != 1) return false;
  text_ = {steps[0], directions[0], directions[1], ends[0]};
  return true;
}

GraphSource::Graph GraphSource::draw(SeededRandom& random) const {
  std::vector<std::int32_t> parents;
  trees_.draw(random, parents);
  if (!leaves_.empty()) return draw_tree(parents, random);
  std::vector<bool> inner(parents.size(), false);
  for (const std::int32_t parent : parents) {
    if (parent >= 0) inner[static_cast<std::size_t>(parent)] = true;
  }
  std::size_t words = 0;
  for (const bool is_inner : inner) words += is_inner ? 0 : 1;
  return draw_text(words, random);
}

GraphSource::Graph GraphSource::draw_tree(const std::vector<std::int32_t>& parents,
                                          SeededRandom& random) const {
  std::vector<std::vector<std::int32_t>> children(parents.size());
  for (std::size_t node = 0; node + 1 < parents.size(); ++node)
    children[static_cast<std::size_t>(parents[node])].push_back(static_cast<std::int32_t>(node));
  Graph graph;
  graph.offsets.push_back(0);
  for (const auto& before : children) {
    const auto& fitting = before.empty() ? leaves_ : inner_;
    graph.types.push_back(fitting[random.below(fitting.size())]);
    graph.predecessors.insert(graph.predecessors.end(), before.begin(), before.end());
    graph.offsets.push_back(static_cast<std::int32_t>(graph.predecessors.size()));
  }
  return graph;
}

GraphSource::Graph GraphSource::draw_text(std::size_t words, SeededRandom& random) const {
  constexpr std::int32_t kNothing = -1;
  Graph graph;
  graph.offsets.push_back(0);
  std::vector<std::int32_t> ends, ahead(words, kNothing), back(words, kNothing);
  for (std::size_t word = 0; word < words; ++word) {
    std::int32_t last = kNothing;
    for (std::uint64_t left = 1 + random.below(kMostCharacters); left > 0; --left)
      last = add_node(graph, text_.character, {last});
    ends.push_back(last);
  }
  for (std::size_t word = 0; word < words; ++word)
    ahead[word] = add_node(graph, text_.ahead, {ends[word], word == 0 ? kNothing : ahead[word - 1]});
  for (std::size_t word = words; word-- > 0;)
    back[word] = add_node(graph, text_.back, {ends[word], word + 1 == words ? kNothing : back[word + 1]});
  for (std::size_t word = 0; word < words; ++word) add_node(graph, text_.both, {ahead[word], back[word]});
  return graph;
}

}  // namespace volvox
