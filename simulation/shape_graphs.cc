#include "simulation/shape_graphs.h"

#include <cstddef>
#include <vector>

namespace volvox {

Result<std::shared_ptr<const NodeGraph>> tree_graph(std::span<const std::int32_t> parents, CellTypeId leaf,
                                                    CellTypeId inner) {
  std::vector<std::vector<std::uint32_t>> children(parents.size());
  for (std::size_t i = 0; i + 1 < parents.size(); ++i)
    children[static_cast<std::size_t>(parents[i])].push_back(static_cast<std::uint32_t>(i));
  auto graph = std::make_shared<NodeGraph>();
  std::uint32_t words = 0;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    NodeGraph::Node node;
    node.push = i + 1 == parents.size();
    node.type = children[i].empty() ? leaf : inner;
    std::vector<NodeGraph::Edge> edges;
    if (children[i].empty()) {
      node.pull_row = words++;
    } else if (children[i].size() == 2) {
      edges = {{children[i][0], 0}, {children[i][1], 1}};
    } else {
      return invalid("a node of a binary tree has neither two children nor none");
    }
    graph->add(node, edges);
  }
  if (Status ok = graph->finish(); !ok) return tl::unexpected(ok.error());
  return graph;
}

Result<std::shared_ptr<const NodeGraph>> lattice_graph(const LatticeShape& lattice, CellTypeId character,
                                                       CellTypeId word) {
  std::vector<std::vector<std::uint32_t>> ending(lattice.length), beginning(lattice.length);
  for (std::size_t i = 0; i < lattice.starts.size(); ++i)
    beginning[static_cast<std::size_t>(lattice.starts[i])].push_back(
        static_cast<std::uint32_t>(lattice.ends[i] - 1));
  auto graph = std::make_shared<NodeGraph>();
  std::uint32_t previous = 0;
  std::vector<NodeGraph::Edge> edges;
  for (std::uint32_t c = 0; c < lattice.length; ++c) {
    edges.clear();
    if (c > 0) edges.push_back({previous, 0});
    for (std::uint32_t w : ending[c]) edges.push_back({w, NodeGraph::kRagged});
    NodeGraph::Node node;
    node.type = character;
    node.pull_row = c;
    node.push = c + 1 == lattice.length;
    previous = graph->add(node, edges);
    for (std::uint32_t end : beginning[c]) {
      const NodeGraph::Edge from{previous, 0};
      NodeGraph::Node over;
      over.type = word;
      over.pull_row = c;
      ending[end].push_back(graph->add(over, {&from, 1}));
    }
  }
  if (Status ok = graph->finish(); !ok) return tl::unexpected(ok.error());
  return graph;
}

}  // namespace volvox
