#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "cells/ir/lane_plan.h"
#include "cells/ir/node_graph.h"
#include "cells/ir/types.h"

namespace volvox {

// How the requests of one model unfold where each brings its own graph: a node is a cell of the type that it
// names, and reads the states of the nodes that it lists. Fixed at load, shared by all requests; immutable,
// any thread. All states are in one pool.
struct GraphPlan {
  // One of the model's cell types, by its number.
  struct Type {
    std::string name{};
    std::uint32_t gathers = 0;      // predecessors that are read one by one, the first ones
    bool lists = false;             // all further ones are read as a list
    bool pulls = false;             // it reads the request's inputs: row v is node v's
    bool answers = false;           // it writes the request's outputs
    std::vector<bool> reads_after;  // by type: whether a node of that type has all states that this one reads
  };

  std::vector<Type> types{};
  std::uint32_t max_edges = 1U << 16;  // of one node
  // Inputs and outputs of the request that the cells' own numbers mean, the same for all types.
  std::array<std::uint8_t, kMaxPulls> pulls{};
  // every: each node that answers writes a row, in the order of the nodes; otherwise only the last node.
  std::array<LanePush, kMaxPushes> pushes{};

  // What a request's graph takes of memory while it lives, unfolded and scheduled, at most.
  static constexpr std::size_t kBytesPerNode = 64, kBytesPerEdge = 16;
};

// The types that the structure names, in its order, by the plan's numbers. INVALID_ARGUMENT names one that is
// not the plan's.
Result<std::vector<CellTypeId>> types_of(const GraphPlan& plan, const GraphStructure& graph);

// Whether the plan can unfold the graph: indices and order have been checked by whoever decoded it, but each
// node must read as many others as its cell takes, whose states are those that it reads, and those that have
// to answer must be there. INVALID_ARGUMENT names the node and says what to do. Linear time.
Status check_graph(const GraphPlan& plan, const GraphStructure& graph);

// How many nodes of a graph that has passed check_graph() answer.
std::uint32_t answers_of(const GraphPlan& plan, const GraphStructure& graph);

// The cell graph of a graph that has passed check_graph(); `first_type` and `pool` are the process's own
// numbers. Node v of one is node v of the other.
Result<NodeGraph> unfold_graph(const GraphPlan& plan, const GraphStructure& graph, ModelId model,
                               CellTypeId first_type, PoolId pool);

}  // namespace volvox
