#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "cells/ir/lane_plan.h"
#include "cells/ir/node_graph.h"
#include "cells/ir/types.h"

namespace volvox {

// How the requests of one model unfold where their structure is a tree: each node of the tree is a node of
// the cell graph and reads the states of its children. Fixed at load, shared by all requests; a request adds
// the parent of each node. All states are in one pool.
struct TreePlan {
  ModelId model = 0;
  PoolId pool = 0;
  CellTypeId leaf = 0, inner = 0;  // cell types of nodes without and with children; may be the same
  bool binary = false;             // inner nodes have two children, gathers 0 and 1; else any number, listed
  bool inner_pulls = true;         // inner nodes read the request's inputs as well: row v is node v's
  std::uint32_t max_children = ~std::uint32_t{0};  // of one node
  // Inputs and outputs of the request that the cells' own numbers mean, the same for all nodes.
  std::array<std::uint8_t, kMaxPulls> pulls{};
  std::array<LanePush, kMaxPushes> pushes{};  // every: node v writes row v; otherwise only the root writes

  // What a request's tree takes of memory while it lives, unfolded and scheduled, at most.
  static constexpr std::size_t kBytesPerNode = 64;
};

// Whether `parents` (node -> its parent, -1 for the root) is one tree that the plan can unfold: children have
// smaller numbers than their parents, there is one root, and nodes have as many children as the cells take.
// INVALID_ARGUMENT names the node and says what to do. Linear time.
Status check_tree(const TreePlan& plan, std::span<const std::int32_t> parents);

// The cell graph of a tree that has passed check_tree(). Node v of the graph is node v of the tree; siblings
// are read in the order of their numbers.
Result<NodeGraph> unfold_tree(const TreePlan& plan, std::span<const std::int32_t> parents);

// The nodes without children: one flag for each node of a checked tree.
std::vector<bool> leaves_of(std::span<const std::int32_t> parents);

}  // namespace volvox
