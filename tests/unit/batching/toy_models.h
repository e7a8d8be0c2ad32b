#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "batching/request.h"
#include "batching/scheduler_config.h"
#include "tests/unit/batching/toy_device.h"

namespace volvox::toy {

// Cell types of all the toy models; every one hashes what it reads.
enum ToyType : CellTypeId {
  kChain,
  kEager,
  kCore,
  kLayer0,
  kLayer1,
  kLayer2,
  kBackward,
  kTop,
  kEncoder,
  kDecoder,
  kAttention,
  kLeaf,
  kInternal,
  kChar,
  kWord,
  kAny,
  kTypeCount
};
// Pools of their states.
enum ToyPool : PoolId { kStates, kWindow, kGraphs, kPoolCount };

std::vector<TypeShape> type_shapes(std::uint32_t max_batch);
SchedulerConfig scheduler_config(std::uint32_t max_batch, std::uint32_t workers, std::uint32_t max_tasks,
                                 const std::vector<std::uint32_t>& pool_slots);

// Plans, by what they stand for. Valid for the whole program.
const LanePlan& chain_plan();  // one LSTM
const LanePlan& eager_plan();  // its eager part in a window, and its core
const LanePlan& stack_plan();  // three layers
const LanePlan& bidirectional_plan();
const LanePlan& between_plan();    // a layer, a kEncoder over it that keeps all, a layer in reverse over that
const LanePlan& seq2seq_plan();    // a decoder that starts from the encoder's end; lengths[0], lengths[1]
const LanePlan& attention_plan();  // a decoder that reads every state of the encoder
const LanePlan& streamed_plan(bool eager);  // as eager_plan; one of its lanes pushes at every step
// Lanes of at most their lengths, which stop() ends: one alone; a decoder behind an encoder; an encoder of
// which a decoder reads every state; a decoder of two layers.
const LanePlan& stopped_plan();
const LanePlan& stopped_decoder_plan();
const LanePlan& stopped_encoder_plan();
const LanePlan& stopped_stack_plan();
// Whether another lane reads the lane step by step, and so must be stopped before it.
bool is_followed(const LanePlan& plan, LaneId lane);

Request lanes_request(std::uint64_t tag, const LanePlan& plan, std::uint32_t length,
                      std::uint32_t length1 = 0);
Request graph_request(std::uint64_t tag, NodeGraph graph);
// The graph as it was when it had so many nodes.
NodeGraph first_nodes(const NodeGraph& graph, std::uint32_t count);

NodeGraph random_tree(std::mt19937_64& random, std::uint32_t leaves, bool leaves_first);
NodeGraph random_lattice(std::mt19937_64& random, std::uint32_t chars);
NodeGraph random_dag(std::mt19937_64& random, std::uint32_t nodes);

// Any of the above.
Request random_request(std::mt19937_64& random, std::uint64_t tag);

// Slots of each pool that the request cannot do without.
std::vector<std::uint32_t> least_slots(const Request& request);

// The state that each lane of a plan starts from, by lane; empty: the initial one.
using StartStates = std::vector<std::uint64_t>;

// How many steps a lane has that was stopped, by lane.
using Stops = std::map<LaneId, std::uint32_t>;

// What the outputs must be, from the structure alone.
std::map<DeviceAddress, std::uint64_t> expected_outputs(const Request& request, const Stops& stops = {},
                                                        const StartStates& start = {});
// The state of each lane after its last step.
StartStates expected_states(const Request& request, const StartStates& start);
// Every node that must run, once.
std::vector<Device::Node> expected_nodes(const Request& request, const Stops& stops = {});

}  // namespace volvox::toy
