#include "simulation/bench/scheduling_case.h"

#include <algorithm>
#include <utility>

#include "simulation/shape_graphs.h"

namespace volvox::bench {
namespace {

// Rows cost what an LSTM of moderate size costs; the scheduler only compares.
std::vector<CompiledCell::Cost> costs(std::uint32_t max_batch) {
  return {{1, 20.0}, {max_batch, 20.0 + 0.5 * max_batch}};
}

TypeConfig type(CellTypeId id, std::int32_t priority, std::uint32_t max_batch) {
  TypeConfig config;
  config.id = id;
  config.priority = priority;
  config.max_batch = max_batch;
  config.costs = costs(max_batch);
  return config;
}

// Another model like the first, `types` types and a pool of its own.
void add_idle_model(SchedulerConfig& config, ModelId model, std::uint32_t types) {
  for (CellTypeId t = 0; t < types; ++t) {
    TypeConfig type = config.types[t];
    type.id = static_cast<CellTypeId>(config.types.size());
    type.model = model;
    config.types.push_back(type);
  }
  config.pools.push_back({model, config.pools.front().slots});
  config.models.push_back({.id = model});
}

void configure(SchedulingCase& out, std::string name, std::uint32_t types, std::uint32_t max_batch,
               std::uint64_t slots, const SchedulingSizes& sizes) {
  out.name = std::move(name) + "_" + std::to_string(max_batch);
  for (CellTypeId t = 0; t < types; ++t) {
    out.config.types.push_back(type(t, static_cast<std::int32_t>(t), max_batch));
  }
  out.config.pools = {{0, static_cast<std::uint32_t>(slots) + kReservedSlots}};
  out.config.models = {ModelConfig{}};
  out.config.workers = sizes.workers;
  for (ModelId model = 1; model < sizes.models; ++model) add_idle_model(out.config, model, types);
}

Status add_graphs(SchedulingCase& out, const std::vector<Result<std::shared_ptr<const NodeGraph>>>& graphs) {
  for (const auto& graph : graphs) {
    if (!graph) return tl::unexpected(graph.error());
    Request request;
    request.graph = *graph;
    out.requests.push_back(request);
    out.cells.push_back((*graph)->size());
  }
  return {};
}

// Slots with which the live requests fit as they come, with room for chance.
std::uint64_t slots_for(const std::vector<Request>& requests, std::uint64_t live) {
  std::uint64_t wanted = 0;
  for (const Request& request : requests) wanted += request.graph->wanted_slots();
  return wanted * live / requests.size() * 11 / 10 + 4096;
}

}  // namespace

void make_chains(SchedulingCase& out, std::uint32_t max_batch, const std::vector<std::uint32_t>& lengths,
                 const SchedulingSizes& sizes) {
  configure(out, "chain", 1, max_batch, std::uint64_t{2} * sizes.live, sizes);
  out.config.types[0].pulls = out.config.types[0].pushes = 1;
  LaneSpec lane;
  lane.edges.push_back({.gather = 0, .from = 0, .offset = -1, .stride = 1});
  lane.pushes[0].output = 0;
  out.plan.lanes.push_back(lane);
  for (std::uint32_t length : lengths) {
    Request request;
    request.plan = &out.plan;
    request.lengths.fill(length);
    request.inputs[0] = {4096, 4};
    request.outputs[0] = {8192, 4096};
    out.requests.push_back(request);
    out.cells.push_back(length);
  }
}

Status make_trees(SchedulingCase& out, std::uint32_t max_batch,
                  const std::vector<std::vector<std::int32_t>>& trees, const SchedulingSizes& sizes) {
  std::vector<Result<std::shared_ptr<const NodeGraph>>> graphs;
  graphs.reserve(trees.size());
  for (const auto& tree : trees) graphs.push_back(tree_graph(tree, 0, 1));
  if (Status ok = add_graphs(out, graphs); !ok) return ok;
  configure(out, "tree", 2, max_batch, slots_for(out.requests, sizes.live), sizes);
  return {};
}

Status make_lattices(SchedulingCase& out, std::uint32_t max_batch, const std::vector<LatticeShape>& lattices,
                     const SchedulingSizes& sizes) {
  std::vector<Result<std::shared_ptr<const NodeGraph>>> graphs;
  graphs.reserve(lattices.size());
  for (const LatticeShape& lattice : lattices) graphs.push_back(lattice_graph(lattice, 0, 1));
  if (Status ok = add_graphs(out, graphs); !ok) return ok;
  configure(out, "lattice", 2, max_batch, slots_for(out.requests, sizes.live), sizes);
  return {};
}

}  // namespace volvox::bench
