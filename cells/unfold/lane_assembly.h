#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/lane_plan.h"
#include "cells/ir/split.h"
#include "cells/model/assembly.h"

namespace volvox {

// Builds the lanes of a model's plan, for unfoldings whose requests run in lanes: cells first, then lanes of
// them, then finish(). A cell becomes a type with a pool of its own; where it is worth it, two
// (cells/ir/split.h), whose eager one has a lane beside each lane of the cell. Errors name the file and the
// line. The definitions must outlive it.
class LaneAssembly {
 public:
  explicit LaneAssembly(Assembly& assembly);

  // Its number for add_lane().
  Result<std::size_t> add_cell(const CellDefinition& definition, Cell given);

  // A lane of a cell. The cell's gather 0 reads the lane's own step before; gather i + 1 what the
  // definition's i-th `from` says, lists left out, which are what it gathers as a whole.
  Status add_lane(std::size_t cell, const LaneDefinition& definition);

  // After the last lane: connects them, and sees to it that every output is written and every sequence runs.
  Status finish();

 private:
  // A cell as types of the model.
  struct Parts {
    std::optional<std::uint8_t> eager{};
    std::uint8_t core = 0;
    std::uint32_t gather = 0;  // of the core: reads the eager part
    Cell whole{};
    std::string name{};
    std::optional<std::uint8_t> begin{};  // the type of the step before the first one, see begin_with()
    bool used = false;
  };
  struct Lane {
    const LaneDefinition* definition = nullptr;
    std::size_t cell = 0;
    std::uint8_t number = 0;  // of its core in the plan
    std::uint8_t depth = 0;   // how many lanes lie below it
  };
  // What one entry of `from` says.
  struct Source {
    enum class Which : std::uint8_t { kSame, kBefore, kLast, kAll };
    const Lane* lane = nullptr;
    Which which = Which::kSame;
  };

  const LaneSpec& spec(const Lane& lane) const { return model_.plan.lanes[lane.number]; }
  Result<Source> source(const Lane& reader, const std::string& text) const;
  Status make_room(const LaneDefinition& definition, std::size_t lanes) const;
  Result<GivenGathers> given_to(const CellDefinition& cell, const Cell& whole) const;
  Status connect(Lane& lane);
  void add_edge(const Lane& reader, const LaneEdge& edge);
  Status read(const Lane& reader, const Source& from, std::uint32_t gather,
              std::array<PoolId, kMaxGathers>& pools, std::optional<PoolId>& listed);
  Status check_states(const Lane& lane, const OpDef& gathered, std::uint32_t index, PoolId pool) const;
  Status use_pools(const Lane& lane, const std::array<PoolId, kMaxGathers>& pools,
                   std::optional<PoolId> listed, std::uint8_t depth);
  Status begin_with(Lane& lane);
  Result<std::uint8_t> begin_type(const Lane& lane, const Lane& from);
  std::uint8_t once();
  Status note_outputs(const LaneDefinition& definition, const LaneSpec& lane);
  Status note_path(const LaneDefinition& definition, const LaneSpec& lane, std::size_t output);
  void keep_what_is_read_later();
  void keep_what_nobody_follows();
  Status add_stops();

  Assembly& assembly_;
  Model& model_;
  std::vector<Parts> cells_;
  std::vector<Lane> lanes_;
  std::map<std::string, std::size_t, std::less<>> names_;  // of lanes_
  std::vector<bool> written_;                              // by output
  std::vector<std::uint8_t> writers_;                      // by output: the lane that has a row for each step
};

}  // namespace volvox
