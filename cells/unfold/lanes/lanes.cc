#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cells/model/assembly.h"
#include "cells/model/model.h"
#include "cells/unfold/lane_assembly.h"
#include "cells/unfold/sequence.h"

namespace volvox {
namespace {

// Lanes that the model's definition composes: stacks, and all else in which a lane reads others step by step.
class Composition {
 public:
  explicit Composition(Assembly& assembly)
      : assembly_(assembly), definition_(assembly.definition()), lanes_(assembly) {}

  Status run() {
    if (definition_.inputs.empty())
      return assembly_.error(1, "input: lanes need at least one, whose rows are their steps");
    if (definition_.lanes.empty()) return assembly_.error(1, "lane: there is none; write each as [[lane]]");
    for (const CellDefinition& cell : definition_.cells) {
      if (Status added = add_cell(cell); !added) return added;
    }
    for (const LaneDefinition& lane : definition_.lanes) {
      if (Status added = add_lane(lane); !added) return added;
    }
    for (const CellDefinition& cell : definition_.cells) {
      const bool used = std::any_of(definition_.lanes.begin(), definition_.lanes.end(),
                                    [&](const LaneDefinition& lane) { return lane.cell == cell.name; });
      if (!used) return assembly_.error(cell.line, "cell: no lane is of " + in_quotes(cell.name));
    }
    return lanes_.finish();
  }

 private:
  Status add_cell(const CellDefinition& cell) {
    if (cells_.contains(cell.name))
      return assembly_.error(cell.line, "cell: " + in_quotes(cell.name) + " comes twice");
    auto built = assembly_.library_cells(cell, "lanes", {"chain", "lanes"});
    if (!built) return tl::unexpected(built.error());
    const auto number = lanes_.add_cell(cell, std::move(built->front()));
    if (!number) return tl::unexpected(number.error());
    cells_[cell.name] = *number;
    return {};
  }

  Status add_lane(const LaneDefinition& lane) {
    const auto cell = cells_.find(lane.cell);
    if (cell == cells_.end())
      return assembly_.error(lane.line, "cell: there is no cell " + in_quotes(lane.cell));
    return lanes_.add_lane(cell->second, lane);
  }

  Assembly& assembly_;
  const ModelDefinition& definition_;
  LaneAssembly lanes_;
  std::map<std::string_view, std::size_t> cells_;
};

Status build(Assembly& assembly) {
  assembly.model().unfolding = sequence_unfolding();
  return Composition(assembly).run();
}

}  // namespace

extern const UnfoldingKind kLanesUnfolding;
const UnfoldingKind kLanesUnfolding{"lanes", build};

}  // namespace volvox
