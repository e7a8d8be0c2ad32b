#include "cells/unfold/tree/tree_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cells/unfold/wanted_rows.h"

namespace volvox {
namespace {

constexpr std::int32_t kRoot = -1;

std::string node_name(std::size_t v) {
  return "node " + std::to_string(v);
}

// Every parent is a later node, but for the root's, which is the last node: so there is no cycle.
Status check_parents(std::span<const std::int32_t> parents) {
  const auto nodes = static_cast<std::int64_t>(parents.size());
  if (nodes == 0) return invalid("the tree has no nodes; it needs at least one");
  for (std::int64_t v = 0; v + 1 < nodes; ++v) {
    const std::int64_t parent = parents[static_cast<std::size_t>(v)];
    if (parent == kRoot) {
      return invalid("the tree has several roots, nodes " + std::to_string(v) + " and " +
                     std::to_string(nodes - 1) + " among them; send each tree as a request of its own");
    }
    if (parent <= v || parent >= nodes) {
      return invalid("the parent of node " + std::to_string(v) + " is " + std::to_string(parent) +
                     "; it must be a later node, for children come before parents");
    }
  }
  if (parents.back() == kRoot) return {};
  return invalid("the parent of the last node is " + std::to_string(parents.back()) +
                 "; the last node is the root, and its parent -1");
}

std::vector<std::uint32_t> count_children(std::span<const std::int32_t> parents) {
  std::vector<std::uint32_t> counts(parents.size(), 0);
  for (const std::int32_t parent : parents) {
    if (parent != kRoot) ++counts[static_cast<std::size_t>(parent)];
  }
  return counts;
}

std::string children(std::uint32_t count) {
  return count == 1 ? "1 child" : std::to_string(count) + " children";
}

}  // namespace

Status check_tree(const TreePlan& plan, std::span<const std::int32_t> parents) {
  if (Status sound = check_parents(parents); !sound) return sound;
  const std::vector<std::uint32_t> counts = count_children(parents);
  for (std::size_t v = 0; v < counts.size(); ++v) {
    if (plan.binary && counts[v] != 0 && counts[v] != 2) {
      return invalid(node_name(v) + " has " + children(counts[v]) +
                     "; this model's trees are binary: a node has two, or none");
    }
    if (!plan.binary && counts[v] > plan.max_children) {
      return invalid(node_name(v) + " has " + children(counts[v]) + "; this model takes at most " +
                     std::to_string(plan.max_children) + " (max_edges)");
    }
  }
  return {};
}

Result<NodeGraph> unfold_tree(const TreePlan& plan, std::span<const std::int32_t> parents) {
  const std::size_t nodes = parents.size();
  // Node v's children are listed[begin[v] .. begin[v + 1]), in ascending order.
  std::vector<std::uint32_t> begin(nodes + 1, 0), listed(nodes - 1), next;
  for (std::size_t v = 0; v + 1 < nodes; ++v) ++begin[static_cast<std::size_t>(parents[v]) + 1];
  for (std::size_t v = 0; v < nodes; ++v) begin[v + 1] += begin[v];
  next.assign(begin.begin(), begin.end() - 1);
  for (std::uint32_t v = 0; v + 1 < nodes; ++v) listed[next[static_cast<std::size_t>(parents[v])]++] = v;

  const auto [any, every] = wanted_rows(plan.pushes);
  NodeGraph graph;
  graph.model = plan.model;
  graph.pool = plan.pool;
  graph.reserve(nodes, nodes - 1);
  std::vector<NodeGraph::Edge> edges;
  for (std::uint32_t v = 0; v < nodes; ++v) {
    edges.clear();
    for (std::uint32_t c = begin[v]; c < begin[v + 1]; ++c) {
      const auto gather = plan.binary ? static_cast<std::uint8_t>(c - begin[v]) : NodeGraph::kRagged;
      edges.push_back({listed[c], gather});
    }
    NodeGraph::Node node;
    node.type = edges.empty() ? plan.leaf : plan.inner;
    if (edges.empty() || plan.inner_pulls) node.pull_row = v;
    node.push = every || (any && v + 1 == nodes);
    node.push_row = every ? v : 0;
    graph.add(node, edges);
  }
  if (Status sound = graph.finish(); !sound) return tl::unexpected(sound.error());
  return graph;
}

std::vector<bool> leaves_of(std::span<const std::int32_t> parents) {
  std::vector<bool> leaf(parents.size(), true);
  for (const std::int32_t parent : parents) {
    if (parent != kRoot) leaf[static_cast<std::size_t>(parent)] = false;
  }
  return leaf;
}

}  // namespace volvox
