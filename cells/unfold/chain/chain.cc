#include <utility>

#include "cells/model/assembly.h"
#include "cells/model/model.h"
#include "cells/unfold/lane_assembly.h"
#include "cells/unfold/sequence.h"

namespace volvox {
namespace {

Status build(Assembly& assembly) {
  auto only = assembly.only_cell("chain", "steps");
  if (!only) return tl::unexpected(only.error());
  LaneAssembly lanes(assembly);
  const auto cell = lanes.add_cell(*only->cell, std::move(only->built.front()));
  if (!cell) return tl::unexpected(cell.error());
  if (Status added = lanes.add_lane(*cell, only->lane); !added) return added;
  assembly.model().unfolding = sequence_unfolding();
  return lanes.finish();
}

}  // namespace

extern const UnfoldingKind kChainUnfolding;
const UnfoldingKind kChainUnfolding{"chain", build};

}  // namespace volvox
