#pragma once

#include <cstdint>
#include <vector>

#include "batching/ready_queues.h"
#include "batching/request.h"

namespace volvox {

inline constexpr std::uint32_t kNoNode = ~std::uint32_t{0};

// A node of a live graph request: four to a cache line, as thousands of requests are visited in turn.
struct NodeRun {
  enum class State : std::uint8_t { kOpen, kReady, kSubmitted };
  union {
    std::uint32_t open_predecessors = 0;  // kOpen: not submitted
    std::uint32_t next_ready;             // later: in its group's list
  };
  union {
    std::uint32_t open_readers = 0;  // not submitted
    std::uint32_t next_free;         // without any: in the request's list of slots that came free
  };
  std::uint32_t slot = kSinkSlot;
  std::uint16_t group = 0;  // of its type, in GraphRun::groups
  State state = State::kOpen;
  bool ahead : 1 = false;  // submitted before an earlier node, and its slot is live
  bool took : 1 = false;   // its slot is one that the pool gave, not one that came free
};
static_assert(sizeof(NodeRun) == 16);

// Ready nodes of one type of a graph request: a list, first in, first out. Nodes that were taken out of order
// stay in it until they come up.
struct NodeGroup {
  CellTypeId type = 0;
  EntryId entry = kNoEntry;
  std::uint32_t head = kNoNode, tail = kNoNode;
  std::uint32_t count = 0;  // ready and not taken
  std::uint32_t told = 0;   // of these, those of which the queue knows
};

// Records of requests keep room for so many nodes when they are used again; that of larger graphs goes with
// them.
inline constexpr std::uint32_t kKeptNodes = 1024;

// A node graph while its request lives.
struct GraphRun {
  // Slots: what the pool promised, and what holds a state. What was taken is kept to the end (NodeRun::took):
  // a slot that comes free when its last reader is submitted may only be written by later tasks of the same
  // queue, which are this request's.
  std::uint32_t reserved = 0, live_slots = 0;
  std::uint32_t first_free = kNoNode;  // the node whose slot came free last
  NodeGraph::View graph;               // the request's
  PoolId pool = 0;                     // of its states
  bool growable = false;
  bool opened = false;  // `nodes` is filled
  std::vector<NodeRun> nodes;
  std::vector<NodeGroup> groups;  // by type, as NodeGraph::types()
  std::uint32_t next = 0;         // the first node that is not submitted
  std::uint32_t ahead_count = 0;  // live slots of nodes past `next`
};

}  // namespace volvox
