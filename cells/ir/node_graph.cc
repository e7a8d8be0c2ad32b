#include "cells/ir/node_graph.h"

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
    if (edge.node >= v) {
      return invalid(node_name(v) + " reads node " + std::to_string(edge.node) +
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

void NodeGraph::reserve(std::size_t nodes, std::size_t edges) {
  records_.reserve(nodes + 1);
  ends_.reserve(nodes);
  edges_.reserve(edges);
}

std::uint32_t NodeGraph::add(const Node& node, std::span<const Edge> edges) {
  records_.back().node = node;
  edges_.insert(edges_.end(), edges.begin(), edges.end());
  records_.push_back({});
  ends_.push_back(static_cast<std::uint32_t>(edges_.size()));
  return size() - 1;
}

Status NodeGraph::finish() {
  if (size() == 0) return invalid("a cell graph needs at least one node");
  if (size() > kMaxNodes || edges_.size() > kMaxEdges) {
    return invalid("a cell graph of " + std::to_string(size()) + " nodes and " +
                   std::to_string(edges_.size()) + " edges is too large: at most " +
                   std::to_string(kMaxNodes) + " and " + std::to_string(kMaxEdges));
  }
  for (std::uint32_t v = 0; v < size(); ++v) {
    if (Status status = check_edges(v, added(v)); !status) return status;
  }
  link();
  count_slots();
  return list_types();
}

Status NodeGraph::list_types() {
  types_.clear();
  sources_.clear();
  for (std::uint32_t v = 0; v < size(); ++v) {
    auto found = std::find(types_.begin(), types_.end(), node(v).type);
    if (found == types_.end()) {
      if (types_.size() == kMaxTypes) {
        return invalid("a cell graph has nodes of more than " + std::to_string(kMaxTypes) + " types");
      }
      found = types_.insert(types_.end(), node(v).type);
      sources_.push_back(0);
    }
    records_[v].type_index = static_cast<std::uint16_t>(found - types_.begin());
    if (predecessors(v).empty()) ++sources_[records_[v].type_index];
  }
  return {};
}

// A counting sort of the edges by their source: readers come in ascending order, once for each edge.
void NodeGraph::link() {
  std::vector<std::uint32_t> readers(size(), 0);
  for (const Edge& edge : edges_) ++readers[edge.node];
  links_.resize(2 * edges_.size());
  std::uint32_t at = 0;
  for (std::uint32_t v = 0; v < size(); ++v) {
    const auto edges = added(v);
    std::copy(edges.begin(), edges.end(), links_.begin() + at);
    records_[v].predecessors = at;
    records_[v].successors = at + static_cast<std::uint32_t>(edges.size());
    at = records_[v].successors + readers[v];
    readers[v] = records_[v].successors;  // from here on: where the next one is written
  }
  records_.back().predecessors = at;
  for (std::uint32_t v = 0; v < size(); ++v) {
    for (const Edge& edge : added(v))
      links_[readers[edge.node]++] = {v, static_cast<std::uint8_t>(edge.gather)};
  }
}

void NodeGraph::count_slots() {
  count_suffix_peak();
  wanted_slots_ = std::max(level_peak(), suffix_peak(0));
}

// live(v): the slots held while node v runs: its own, and those of earlier nodes whose last reader is v or
// later. A slot is given back after its last reader; one without a reader, after its own node.
void NodeGraph::count_suffix_peak() {
  std::vector<std::uint32_t> freed(size(), 0);  // slots given back after node v
  for (std::uint32_t v = 0; v < size(); ++v) {
    const auto readers = successors(v);
    ++freed[readers.empty() ? v : readers.back().node];
  }
  records_.back().suffix_peak = 0;
  std::uint32_t live = 0;
  for (std::uint32_t v = 0; v < size(); ++v) {
    records_[v].suffix_peak = ++live;
    live -= freed[v];
  }
  for (std::uint32_t v = size(); v-- > 0;) {
    records_[v].suffix_peak = std::max(records_[v].suffix_peak, records_[v + 1].suffix_peak);
  }
}

// A level is all nodes of one depth (the longest way from a node without predecessors); a whole level runs at
// once, and gives back what it read last when it is done.
std::uint32_t NodeGraph::level_peak() const {
  // Four numbers of each node or level, in one piece of memory: this runs for every request.
  std::vector<std::uint32_t> scratch(std::size_t{4} * size(), 0);
  std::uint32_t* const depth = scratch.data();
  std::uint32_t* const last_read = depth + size();  // the deepest reader's level
  std::uint32_t* const taken = last_read + size();
  std::uint32_t* const freed = taken + size();
  for (std::uint32_t v = 0; v < size(); ++v) {
    for (const Edge& edge : predecessors(v)) depth[v] = std::max(depth[v], depth[edge.node] + 1);
    last_read[v] = depth[v];
    for (const Edge& edge : predecessors(v)) last_read[edge.node] = std::max(last_read[edge.node], depth[v]);
  }
  for (std::uint32_t v = 0; v < size(); ++v) {
    ++taken[depth[v]];
    ++freed[last_read[v]];
  }
  std::uint32_t live = 0, peak = 0;
  for (std::size_t level = 0; level < size(); ++level) {
    live += taken[level];
    peak = std::max(peak, live);
    live -= freed[level];
  }
  return peak;
}

}  // namespace volvox
