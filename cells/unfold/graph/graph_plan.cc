#include "cells/unfold/graph/graph_plan.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cells/unfold/wanted_rows.h"

namespace volvox {
namespace {

std::span<const std::int32_t> predecessors(const GraphStructure& graph, std::size_t node) {
  const auto first = static_cast<std::size_t>(graph.offsets[node]);
  return graph.predecessors.subspan(first, static_cast<std::size_t>(graph.offsets[node + 1]) - first);
}

tl::unexpected<Error> wrong_node(std::size_t node, const std::string& what) {
  return invalid("graph node " + std::to_string(node) + what);
}

Status check_node(const GraphPlan& plan, const GraphStructure& graph, std::span<const CellTypeId> types,
                  std::size_t node) {
  const GraphPlan::Type& type = plan.types[types[static_cast<std::size_t>(graph.type_of[node])]];
  const auto before = predecessors(graph, node);
  if (!type.lists && before.size() > type.gathers) {
    return wrong_node(node, " follows " + std::to_string(before.size()) + " nodes; a " +
                                in_quotes(type.name) + " reads at most " + std::to_string(type.gathers));
  }
  if (before.size() > plan.max_edges) {
    return wrong_node(node, " follows " + std::to_string(before.size()) + " nodes; at most " +
                                std::to_string(plan.max_edges) + " are possible (max_edges)");
  }
  for (const std::int32_t from : before) {
    const CellTypeId of = types[static_cast<std::size_t>(graph.type_of[static_cast<std::size_t>(from)])];
    if (type.reads_after[of]) continue;
    return wrong_node(node, ", a " + in_quotes(type.name) + ", cannot follow node " + std::to_string(from) +
                                ", a " + in_quotes(plan.types[of].name) +
                                ", which has not all states that it reads");
  }
  return {};
}

bool answers(const GraphPlan& plan, const GraphStructure& graph, std::span<const CellTypeId> types,
             std::size_t node) {
  return plan.types[types[static_cast<std::size_t>(graph.type_of[node])]].answers;
}

// Rows of an answer that nobody writes would be anything.
Status check_answers(const GraphPlan& plan, const GraphStructure& graph, std::span<const CellTypeId> types) {
  const auto [any, every] = wanted_rows(plan.pushes);
  const std::size_t nodes = graph.type_of.size();
  if (!any || nodes == 0 || answers(plan, graph, types, nodes - 1)) return {};
  if (!every) return wrong_node(nodes - 1, ", the last one, is to answer, and its cell emits nothing");
  for (std::size_t node = 0; node < nodes; ++node) {
    if (answers(plan, graph, types, node)) return {};
  }
  return invalid("no node of the graph is of a cell that emits anything: there would be no answer");
}

}  // namespace

Result<std::vector<CellTypeId>> types_of(const GraphPlan& plan, const GraphStructure& graph) {
  std::vector<CellTypeId> types;
  for (const std::string_view name : graph.cell_types) {
    const auto found = std::find_if(plan.types.begin(), plan.types.end(),
                                    [&](const GraphPlan::Type& type) { return type.name == name; });
    if (found == plan.types.end()) {
      return invalid("there is no cell type " + in_quotes(std::string(name)) + "; this model has " +
                     listed(plan.types, [](const GraphPlan::Type& type) { return in_quotes(type.name); }));
    }
    types.push_back(static_cast<CellTypeId>(found - plan.types.begin()));
  }
  return types;
}

Status check_graph(const GraphPlan& plan, const GraphStructure& graph) {
  const auto types = types_of(plan, graph);
  if (!types) return tl::unexpected(types.error());
  for (std::size_t node = 0; node < graph.type_of.size(); ++node) {
    if (Status fits = check_node(plan, graph, *types, node); !fits) return fits;
  }
  return check_answers(plan, graph, *types);
}

std::uint32_t answers_of(const GraphPlan& plan, const GraphStructure& graph) {
  const auto types = types_of(plan, graph);
  std::uint32_t count = 0;
  for (std::size_t node = 0; types && node < graph.type_of.size(); ++node)
    count += answers(plan, graph, *types, node) ? 1 : 0;
  return count;
}

Result<NodeGraph> unfold_graph(const GraphPlan& plan, const GraphStructure& graph, ModelId model,
                               CellTypeId first_type, PoolId pool) {
  const auto types = types_of(plan, graph);
  if (!types) return tl::unexpected(types.error());
  const auto [any, every] = wanted_rows(plan.pushes);
  const auto nodes = static_cast<std::uint32_t>(graph.type_of.size());
  NodeGraph made;
  made.model = model;
  made.pool = pool;
  made.reserve(nodes, graph.predecessors.size());
  std::vector<NodeGraph::Edge> edges;
  std::uint32_t row = 0;  // of the next that answers
  for (std::uint32_t v = 0; v < nodes; ++v) {
    const CellTypeId number = (*types)[static_cast<std::size_t>(graph.type_of[v])];
    const GraphPlan::Type& type = plan.types[number];
    edges.clear();
    for (const std::int32_t from : predecessors(graph, v)) {
      const bool numbered = edges.size() < type.gathers;
      const auto gather = numbered ? static_cast<std::uint8_t>(edges.size()) : NodeGraph::kRagged;
      edges.push_back({static_cast<std::uint32_t>(from), gather});
    }
    NodeGraph::Node node;
    node.type = first_type + number;
    if (type.pulls) node.pull_row = v;
    node.push = type.answers && (every || (any && v + 1 == nodes));
    if (node.push && every) node.push_row = row++;
    made.add(node, edges);
  }
  if (Status sound = made.finish(); !sound) return tl::unexpected(sound.error());
  return made;
}

}  // namespace volvox
