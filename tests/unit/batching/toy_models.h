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
const LanePlan& seq2seq_plan();    // a decoder that starts from the encoder's end; lengths[0], lengths[1]
const LanePlan& attention_plan();  // a decoder that reads every state of the encoder
const LanePlan& streamed_plan(bool eager);  // as eager_plan; one of its lanes pushes at every step
const LanePlan& stopped_plan();             // a decoder of at most lengths[1] steps that stop() ends

Request lanes_request(std::uint64_t tag, const LanePlan& plan, std::uint32_t length,
                      std::uint32_t length1 = 0);
Request graph_request(std::uint64_t tag, NodeGraph graph);

NodeGraph random_tree(std::mt19937_64& random, std::uint32_t leaves, bool leaves_first);
NodeGraph random_lattice(std::mt19937_64& random, std::uint32_t chars);
NodeGraph random_dag(std::mt19937_64& random, std::uint32_t nodes);

// Any of the above.
Request random_request(std::mt19937_64& random, std::uint64_t tag);

// Slots of each pool that the request cannot do without.
std::vector<std::uint32_t> least_slots(const Request& request);

// The state that each lane of a plan starts from, by lane; empty: the initial one.
using StartStates = std::vector<std::uint64_t>;

// What the outputs must be, from the structure alone; `stopped` is the last step of a stopped lane + 1, or 0.
std::map<DeviceAddress, std::uint64_t> expected_outputs(const Request& request, std::uint32_t stopped = 0,
                                                        const StartStates& start = {});
// The state of each lane after its last step.
StartStates expected_states(const Request& request, const StartStates& start);
// Every node that must run, once.
std::vector<Device::Node> expected_nodes(const Request& request);

}  // namespace volvox::toy
