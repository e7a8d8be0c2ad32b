#include "loadgen/requests/graphs.h"

namespace volvox {

Result<GraphSource> GraphSource::make(TreeSource trees, const std::vector<GraphCellType>& types) {
  GraphSource source(std::move(trees));
  source.types_ = types;
  for (const GraphCellType& type : types) {
    const auto number = static_cast<std::int32_t>(source.names_.size());
    source.names_.push_back(type.name);
    if (type.is_leaf) source.leaves_.push_back(number);
    if (type.is_inner || type.reads_any) source.inner_.push_back(number);
  }
  if (source.leaves_.empty() || source.inner_.empty())
    return invalid("no graph of two or more nodes can be made of this model's cells");
  return source;
}

GraphSource::Graph GraphSource::draw(SeededRandom& random) const {
  std::vector<std::int32_t> parents;
  trees_.draw(random, parents);
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

}  // namespace volvox
