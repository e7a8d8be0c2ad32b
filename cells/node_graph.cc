#include "cells/node_graph.h"

#include <algorithm>
#include <string>

namespace volvox {
namespace {

std::string node_name(std::uint32_t v) {
  return "node " + std::to_string(v);
}

Status check_edges(std::uint32_t v, std::span<const NodeGraph::Edge> edges) {
  std::uint32_t seen = 0;  // bit g: gather g has a predecessor
  for (const NodeGraph::Edge& edge : edges) {
    if (edge.from >= v) {
      return invalid(node_name(v) + " reads node " + std::to_string(edge.from) +
                     ": a predecessor must stand before its reader");
    }
    if (edge.gather == NodeGraph::kRagged) continue;
    if (edge.gather >= kMaxGathers) {
      return invalid(node_name(v) + ": gather " + std::to_string(edge.gather) + " is out of range, at most " +
                     std::to_string(kMaxGathers) + " are possible");
    }
    if ((seen & (1U << edge.gather)) != 0) {
      return invalid(node_name(v) + ": gather " + std::to_string(edge.gather) + " has two predecessors");
    }
    seen |= 1U << edge.gather;
  }
  return {};
}

}  // namespace

std::uint32_t NodeGraph::add(const Node& node, std::span<const Edge> edges) {
  nodes_.push_back(node);
  edges_.insert(edges_.end(), edges.begin(), edges.end());
  edge_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
  return size() - 1;
}

Status NodeGraph::finish() {
  if (nodes_.empty()) return invalid("a cell graph needs at least one node");
  if (nodes_.size() > kMaxNodes || edges_.size() > kMaxEdges) {
    return invalid("a cell graph of " + std::to_string(nodes_.size()) + " nodes and " +
                   std::to_string(edges_.size()) + " edges is too large: at most " +
                   std::to_string(kMaxNodes) + " and " + std::to_string(kMaxEdges));
  }
  for (std::uint32_t v = 0; v < size(); ++v) {
    if (Status status = check_edges(v, predecessors(v)); !status) return status;
  }
  index_successors();
  count_slots();
  list_types();
  return {};
}

void NodeGraph::list_types() {
  types_.clear();
  sources_.clear();
  for (std::uint32_t v = 0; v < size(); ++v) {
    auto found = std::find(types_.begin(), types_.end(), nodes_[v].type);
    if (found == types_.end()) {
      found = types_.insert(types_.end(), nodes_[v].type);
      sources_.push_back(0);
    }
    if (predecessors(v).empty()) ++sources_[static_cast<std::size_t>(found - types_.begin())];
  }
}

// A counting sort of the edges by their source: successors come in ascending order, once for each edge.
void NodeGraph::index_successors() {
  successor_begin_.assign(nodes_.size() + 1, 0);
  for (const Edge& edge : edges_) ++successor_begin_[edge.from + 1];
  for (std::size_t v = 0; v < nodes_.size(); ++v) successor_begin_[v + 1] += successor_begin_[v];
  successors_.resize(edges_.size());
  std::vector<std::uint32_t> next(successor_begin_.begin(), successor_begin_.end() - 1);
  for (std::uint32_t v = 0; v < size(); ++v) {
    for (const Edge& edge : predecessors(v)) successors_[next[edge.from]++] = v;
  }
}

void NodeGraph::count_slots() {
  count_suffix_peak();
  wanted_slots_ = std::max(level_peak(), suffix_peak_[0]);
}

// live(v): the slots held while node v runs: its own, and those of earlier nodes whose last reader is v or
// later. A slot is given back after its last reader; one without a reader, after its own node.
void NodeGraph::count_suffix_peak() {
  std::vector<std::uint32_t> freed(nodes_.size(), 0);  // slots given back after node v
  for (std::uint32_t v = 0; v < size(); ++v) {
    const auto readers = successors(v);
    ++freed[readers.empty() ? v : readers.back()];
  }
  suffix_peak_.assign(nodes_.size() + 1, 0);
  std::uint32_t live = 0;
  for (std::uint32_t v = 0; v < size(); ++v) {
    suffix_peak_[v] = ++live;
    live -= freed[v];
  }
  for (std::uint32_t v = size(); v-- > 0;) suffix_peak_[v] = std::max(suffix_peak_[v], suffix_peak_[v + 1]);
}

// A level is all nodes of one depth (the longest way from a node without predecessors); a whole level runs at
// once, and gives back what it read last when it is done.
std::uint32_t NodeGraph::level_peak() const {
  std::vector<std::uint32_t> depth(nodes_.size(), 0);
  std::vector<std::uint32_t> last_read(nodes_.size(), 0);  // the deepest reader's level
  for (std::uint32_t v = 0; v < size(); ++v) {
    for (const Edge& edge : predecessors(v)) depth[v] = std::max(depth[v], depth[edge.from] + 1);
    last_read[v] = depth[v];
    for (const Edge& edge : predecessors(v)) last_read[edge.from] = std::max(last_read[edge.from], depth[v]);
  }
  std::vector<std::uint32_t> taken(nodes_.size(), 0), freed(nodes_.size(), 0);
  for (std::uint32_t v = 0; v < size(); ++v) {
    ++taken[depth[v]];
    ++freed[last_read[v]];
  }
  std::uint32_t live = 0, peak = 0;
  for (std::size_t level = 0; level < nodes_.size(); ++level) {
    live += taken[level];
    peak = std::max(peak, live);
    live -= freed[level];
  }
  return peak;
}

}  // namespace volvox
