#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "cells/ir/types.h"

namespace volvox {

// A request's cell graph as flat arrays: trees, lattices and graphs that clients send. Nodes stand in a
// topological order: every predecessor has a smaller number. Built by the manager, then read only.
class NodeGraph {
 public:
  static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};
  static constexpr std::uint8_t kRagged = 255;  // an edge of the ragged list instead of a numbered gather
  static constexpr std::size_t kMaxNodes = 1U << 24;
  static constexpr std::size_t kMaxEdges = 1U << 28;
  static constexpr std::size_t kMaxTypes = 1U << 16;

  // To another node, in one word, because a node's edges are read as often as itself. A number that no node
  // can have becomes the last one, which stands before nobody: finish() refuses it.
  struct Edge {
    Edge() = default;
    Edge(std::uint32_t other, std::uint8_t by)
        : node(std::min<std::uint32_t>(other, kMaxNodes - 1)), gather(by) {}

    std::uint32_t node : 24 = 0;   // the predecessor, or the reader
    std::uint32_t gather : 8 = 0;  // which gather of the reader's cell it is, or kRagged
  };
  static_assert(sizeof(Edge) == 4);
  struct Node {
    CellTypeId type = 0;
    std::uint32_t pull_row = kNoRow;  // row of the request's inputs that it pulls
    std::uint32_t push_row = 0;       // row of the request's result that it writes
    bool push = false;                // its results are wanted
    bool watch = false;               // its completion is reported (Event::kNodeDone)
  };

  // Makes room for so many, where that is known before they are added.
  void reserve(std::size_t nodes, std::size_t edges);
  // Adds a node; `edges` in the order in which ragged lists are read. Returns its number.
  std::uint32_t add(const Node& node, std::span<const Edge> edges);
  // Checks the order and the bounds, and computes what the scheduler needs. Call once, at the end, and again
  // after nodes were added. An error names the node; the accessors below may not be used then. Linear time.
  Status finish();

  // The distinct cell types of its nodes, and how many nodes of each have no predecessor.
  std::span<const CellTypeId> types() const { return types_; }
  std::span<const std::uint32_t> sources() const { return sources_; }
  // Which of types() node v has.
  std::uint16_t type_index(std::uint32_t v) const { return records_[v].type_index; }

  // Its nodes as two pointers, for whoever asks about very many. Valid while the graph is neither changed
  // nor gone.
  class View;
  View view() const;

  std::uint32_t size() const { return static_cast<std::uint32_t>(records_.size() - 1); }
  const Node& node(std::uint32_t v) const { return records_[v].node; }
  std::span<const Edge> predecessors(std::uint32_t v) const;
  // The readers of node v in ascending order, one entry for each edge.
  std::span<const Edge> successors(std::uint32_t v) const;

  // The most slots that are live at once when the nodes run one at a time in their order, from node v on; a
  // slot is freed after its last reader (at once, if nobody reads it). suffix_peak(0) is the least
  // reservation with which the graph can run; suffix_peak(size()) is 0.
  std::uint32_t suffix_peak(std::uint32_t v) const { return records_[v].suffix_peak; }
  // The reservation with which whole levels run at once, never less than suffix_peak(0): what a request asks
  // for where slots are not plenty.
  std::uint32_t wanted_slots() const { return wanted_slots_; }
  // Pool of the states of all nodes (a node graph keeps all its states in one pool).
  PoolId pool = 0;
  ModelId model = 0;

 private:
  void link();
  std::span<const Edge> added(std::uint32_t v) const {
    return {edges_.data() + (v == 0 ? 0 : ends_[v - 1]), edges_.data() + ends_[v]};
  }
  void count_slots();
  Status list_types();
  void count_suffix_peak();
  std::uint32_t level_peak() const;

  // All that is asked about a node, in half a cache line; one more at the end closes the ranges.
  struct Record {
    Node node{};
    std::uint32_t predecessors = 0, successors = 0;  // where its own begin in links_, one behind the other
    std::uint32_t suffix_peak = 0;
    std::uint16_t type_index = 0;
  };
  static_assert(sizeof(Record) == 32);

  std::vector<Record> records_{Record{}};
  // As they were added: node v's end where ends_[v] says. finish() makes links_ of them.
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> ends_;
  std::vector<Edge> links_;  // of each node: its predecessors, then its readers
  std::vector<CellTypeId> types_;
  std::vector<std::uint32_t> sources_;
  std::uint32_t wanted_slots_ = 0;
};

// The accessors are those of NodeGraph.
class NodeGraph::View {
 public:
  View() = default;
  const Node& node(std::uint32_t v) const { return records_[v].node; }
  std::span<const Edge> predecessors(std::uint32_t v) const {
    return {links_ + records_[v].predecessors, links_ + records_[v].successors};
  }
  std::span<const Edge> successors(std::uint32_t v) const {
    return {links_ + records_[v].successors, links_ + records_[v + 1].predecessors};
  }
  std::uint32_t suffix_peak(std::uint32_t v) const { return records_[v].suffix_peak; }
  std::uint16_t type_index(std::uint32_t v) const { return records_[v].type_index; }

  // Fetch what is kept of node v / where its edges are listed, for which that must be there.
  [[gnu::always_inline]] void prefetch(std::uint32_t v) const {
    __builtin_prefetch(records_ + v);
    __builtin_prefetch(records_ + v + 1);  // where its readers end
  }
  [[gnu::always_inline]] void prefetch_edges(std::uint32_t v) const {
    __builtin_prefetch(links_ + records_[v].predecessors);
  }

 private:
  friend class NodeGraph;
  View(const Record* records, const Edge* links) : records_(records), links_(links) {}

  const Record* records_ = nullptr;
  const Edge* links_ = nullptr;
};

inline NodeGraph::View NodeGraph::view() const {
  return {records_.data(), links_.data()};
}
inline std::span<const NodeGraph::Edge> NodeGraph::predecessors(std::uint32_t v) const {
  return view().predecessors(v);
}
inline std::span<const NodeGraph::Edge> NodeGraph::successors(std::uint32_t v) const {
  return view().successors(v);
}

}  // namespace volvox
