#include "cells/unfold/lane_assembly.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cells/ir/inference.h"
#include "cells/ir/split.h"
#include "cells/model/model.h"
#include "cells/ops/ops.h"

namespace volvox {
namespace {

// Bytes of the matrices that the cell multiplies by.
std::uint64_t product_bytes(const Cell& cell) {
  std::int64_t weights = 0;
  for (const Operator& op : cell.operators) {
    if (!op.is(kProductOp)) continue;
    const std::size_t terms = op.inputs.size() - (op.has_start ? 1 : 0);
    for (std::size_t i = 0; i < terms; ++i) {
      weights += elements(cell.values[op.output].shape) * elements(cell.values[op.inputs[i]].shape);
    }
  }
  return static_cast<std::uint64_t>(weights) * sizeof(float);
}

Result<SplitCell> split(const Assembly& assembly, const CellDefinition& definition, const Cell& whole) {
  const LoadOptions& options = assembly.options();
  if (!options.eager || product_bytes(whole) < options.eager_from_bytes)
    return SplitCell{std::nullopt, whole, 0};
  auto parts = split_cell(whole);
  if (!parts) return assembly.error(definition.line, parts.error().message);
  return parts;
}

// The type of a cell, with its states in a pool of its own.
std::uint8_t add_type(Model& model, CellTypeSpec type) {
  const auto number = static_cast<std::uint8_t>(model.types.size());
  type.out_pool = number;
  type.gather_pools.fill(number);
  model.pools.push_back({type.cell.states});
  model.types.push_back(std::move(type));
  return number;
}

}  // namespace

LaneAssembly::LaneAssembly(Assembly& assembly)
    : assembly_(assembly), model_(assembly.model()), written_(assembly.model().outputs.size(), false) {}

Result<std::size_t> LaneAssembly::add_cell(const CellDefinition& definition, Cell whole) {
  auto split_parts = split(assembly_, definition, whole);
  if (!split_parts) return tl::unexpected(split_parts.error());
  Parts parts{.gather = split_parts->gather, .whole = std::move(whole)};
  if (split_parts->eager) {
    // It yields to its core, which is closer to an answer.
    CellTypeSpec eager = assembly_.type_of(definition, std::move(*split_parts->eager));
    --eager.priority;
    eager.independent = true;
    parts.eager = add_type(model_, std::move(eager));
  }
  parts.core = add_type(model_, assembly_.type_of(definition, std::move(split_parts->core)));
  if (parts.eager) model_.types[parts.core].gather_pools[parts.gather] = *parts.eager;
  cells_.push_back(std::move(parts));
  return cells_.size() - 1;
}

Status LaneAssembly::check_states(const Parts& parts, const LaneDefinition& definition,
                                  std::span<const std::uint8_t> from) const {
  for (const Operator& op : parts.whole.operators) {
    if (!op.is(kGatherOp) || op.index == 0) continue;
    const Value& wanted = parts.whole.values[op.output];
    const std::vector<StateKind>& kept = model_.pools[model_.plan.lanes[from[op.index - 1]].pool].kinds;
    const bool there = std::any_of(kept.begin(), kept.end(), [&](const StateKind& kind) {
      return kind.name == op.name && kind.dtype == wanted.dtype && kind.shape == wanted.shape;
    });
    if (there) continue;
    return assembly_.error(definition.line, "from: the cell " + in_quotes(definition.cell) +
                                                " reads a state " + in_quotes(op.name) + " of " +
                                                described(wanted.dtype, wanted.shape) +
                                                ", and the lane below keeps none");
  }
  return {};
}

// All lanes of a cell read the same planes, and lie equally deep.
Status LaneAssembly::connect(Parts& parts, const LaneDefinition& definition,
                             std::span<const std::uint8_t> from) {
  const std::uint32_t read = std::max(parts.whole.gathers, 1U) - 1;
  if (from.size() != read) {
    return assembly_.error(definition.line, "from: names " + std::to_string(from.size()) +
                                                " lanes, the cell " + in_quotes(definition.cell) + " reads " +
                                                std::to_string(read));
  }
  if (Status fits = check_states(parts, definition, from); !fits) return fits;
  CellTypeSpec& core = model_.types[parts.core];
  auto pools = core.gather_pools;
  std::uint8_t depth = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    pools[i + 1] = model_.plan.lanes[from[i]].pool;
    depth = std::max<std::uint8_t>(depth, depths_[from[i]] + 1);
  }
  if (parts.used && pools != core.gather_pools) {
    return assembly_.error(definition.line,
                           "from: lanes of one cell read lanes of one cell; write the cell " +
                               in_quotes(definition.cell) + " twice");
  }
  if (!parts.used) {
    core.gather_pools = pools;
    core.priority += depth;
    if (parts.eager) model_.types[*parts.eager].priority += depth;
  }
  parts.used = true;
  depths_.resize(model_.plan.lanes.size() + (parts.eager ? 2 : 1), depth);
  return {};
}

Result<std::uint8_t> LaneAssembly::add_lane(std::size_t cell, const LaneDefinition& definition,
                                            std::span<const std::uint8_t> from) {
  Parts& parts = cells_[cell];
  std::vector<LaneSpec>& lanes = model_.plan.lanes;
  if (lanes.size() + (parts.eager ? 2 : 1) > LanePlan::kMaxLanes)
    return assembly_.error(definition.line, "lane: at most " + std::to_string(LanePlan::kMaxLanes) +
                                                " are possible, " +
                                                "with those for what cells compute ahead");
  if (Status fits = connect(parts, definition, from); !fits) return tl::unexpected(fits.error());
  LaneSpec core;
  Status mapped = assembly_.map_pulls(parts.whole, definition, core.pulls);
  if (mapped) mapped = assembly_.map_pushes(parts.whole, definition, core.pushes, written_);
  if (!mapped) return tl::unexpected(mapped.error());
  const auto self = static_cast<std::uint8_t>(lanes.size() + (parts.eager ? 1 : 0));
  core.type = core.pool = parts.core;
  core.has_state = !model_.types[parts.core].cell.states.empty();
  if (parts.whole.gathers > 0) core.edges.push_back({.gather = 0, .from = self, .offset = -1});
  for (std::size_t i = 0; i < from.size(); ++i)
    core.edges.push_back({.gather = static_cast<std::uint8_t>(i + 1), .from = from[i]});
  if (parts.eager) {
    LaneSpec eager{.type = *parts.eager, .ring = std::max(assembly_.options().eager_window, 1U)};
    eager.pool = *parts.eager;
    eager.pulls = core.pulls;
    core.edges.push_back(
        {.gather = static_cast<std::uint8_t>(parts.gather), .from = static_cast<std::uint8_t>(self - 1)});
    lanes.push_back(std::move(eager));
  }
  lanes.push_back(std::move(core));
  return self;
}

Status LaneAssembly::finish() const {
  return assembly_.check_written(written_);
}

}  // namespace volvox
