#include "cells/unfold/chain/chain.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cells/assembly.h"
#include "cells/split.h"
#include "cells/unfold/plan_lanes.h"

namespace volvox {
namespace {

class Chain final : public Unfolding {
 public:
  std::string_view takes() const override { return "chain"; }
  std::string_view row_name() const override { return "step"; }
  std::string_view last_row_name() const override { return "from the last step"; }

  Status validate(const Model& model) const override { return check_lanes(model); }

  Result<Extent> check(const Structure& structure, const Model& model) const override {
    const auto* chain = std::get_if<ChainStructure>(&structure);
    if (chain == nullptr) return invalid("this model unfolds along a chain; send a chain with its length");
    if (chain->length == 0 || chain->length > model.max_length) {
      return invalid("the chain's length must be between 1 and " + std::to_string(model.max_length) +
                     ", not " + std::to_string(chain->length));
    }
    return Extent{.length = chain->length};
  }

  Result<std::shared_ptr<const NodeGraph>> nodes(const Structure&, const ModelNumbers&) const override {
    return nullptr;
  }
  std::uint64_t cells(const Model& model, std::uint32_t length) const override {
    return std::uint64_t{length} * model.plan.lanes.size();
  }
  std::uint64_t slots(const Model& model, PoolId pool, std::uint32_t length) const override {
    return lane_slots(model, pool, length);
  }
  ReferenceOrder reference_order(const Structure& structure, const Model& model) const override {
    return lane_reference_order(model, std::get<ChainStructure>(structure).length);
  }
};

// Bytes of the matrices that the cell multiplies by.
std::uint64_t product_bytes(const Cell& cell) {
  std::int64_t weights = 0;
  for (const Operator& op : cell.operators) {
    if (op.kind != OpKind::kProduct) continue;
    const std::size_t terms = op.inputs.size() - (op.has_start ? 1 : 0);
    for (std::size_t i = 0; i < terms; ++i) {
      weights += elements(cell.values[op.output].shape) * elements(cell.values[op.inputs[i]].shape);
    }
  }
  return static_cast<std::uint64_t>(weights) * sizeof(float);
}

// The eager lane comes first: type, pool and lane 0. It yields to its core, which is closer to an answer.
void add_eager_lane(Assembly& assembly, const CellDefinition& definition, Cell cell, const LaneSpec& core) {
  Model& model = assembly.model();
  CellTypeSpec type = assembly.type_of(definition, std::move(cell));
  --type.priority;
  type.independent = true;
  LaneSpec lane{.ring = std::max(assembly.options().eager_window, 1U)};
  lane.pulls = core.pulls;
  model.pools.push_back({type.cell.states});
  model.types.push_back(std::move(type));
  model.plan.lanes.push_back(std::move(lane));
}

Result<SplitCell> split(const Assembly& assembly, const CellDefinition& definition, Cell whole) {
  const LoadOptions& options = assembly.options();
  if (!options.eager || product_bytes(whole) < options.eager_from_bytes)
    return SplitCell{std::nullopt, std::move(whole), 0};
  auto parts = split_cell(whole);
  if (!parts) return assembly.error(definition.line, parts.error().message);
  return parts;
}

Status build(Assembly& assembly) {
  auto only = assembly.only_cell("chain", "steps");
  if (!only) return tl::unexpected(only.error());
  const CellDefinition& definition = *only->cell;
  Model& model = assembly.model();
  model.unfolding = chain_unfolding();
  LaneSpec core;
  Cell whole = std::move(only->built.front());
  if (Status ok = assembly.map_pulls(whole, only->lane, core.pulls); !ok) return ok;
  if (Status ok = assembly.map_pushes(whole, only->lane, core.pushes); !ok) return ok;
  auto parts = split(assembly, definition, std::move(whole));
  if (!parts) return tl::unexpected(parts.error());
  if (parts->eager) add_eager_lane(assembly, definition, std::move(*parts->eager), core);
  const auto self = static_cast<std::uint8_t>(model.plan.lanes.size());
  CellTypeSpec type = assembly.type_of(definition, std::move(parts->core));
  core.type = core.pool = type.out_pool = self;
  core.has_state = !type.cell.states.empty();
  for (std::uint32_t gather = 0; gather < type.cell.gathers; ++gather) {
    const bool eager = parts->eager && gather == parts->gather;
    type.gather_pools[gather] = eager ? 0 : self;
    core.edges.push_back({.gather = static_cast<std::uint8_t>(gather),
                          .from = eager ? std::uint8_t{0} : self,
                          .offset = eager ? 0 : -1});
  }
  model.pools.push_back({type.cell.states});
  model.types.push_back(std::move(type));
  model.plan.lanes.push_back(std::move(core));
  return {};
}

}  // namespace

extern const UnfoldingKind kChainUnfolding;
const UnfoldingKind kChainUnfolding{"chain", build};

std::shared_ptr<const Unfolding> chain_unfolding() {
  return std::make_shared<const Chain>();
}

}  // namespace volvox
