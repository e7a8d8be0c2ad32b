#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells/ir/lane_plan.h"

namespace volvox {

// How many steps an edge may look back.
inline constexpr std::int32_t kMaxDistance = 1 << 20;

// A plan has a node for every step of every lane, but must be checked before any length is known. Every
// dependency has one of two forms: step t of lane a needs step t+d of lane b, whatever t is, or it needs all
// of lane b. Going round a cycle of lanes adds up the d: the plan can run if and only if every such sum is
// negative. Largest sums by Floyd and Warshall's algorithm; at most 32 lanes. Used by LanePlan::validate().
class LaneOrder {
 public:
  // Knows the plan's edges, not its rings. The plan's numbers must be in range, and it must outlive this.
  explicit LaneOrder(const LanePlan& plan);

  // A lane of a cycle in which a step needs itself or a later one.
  std::optional<std::size_t> find_cycle() const;

  // A lane whose ring is too small, if possible one that alone is to blame. A ring demands that step u is
  // written after every reader of step u - ring, which may close a cycle that the edges alone do not have.
  std::optional<std::size_t> find_small_ring() const;

  // By lane: whether its next step may wait until half of its ring's steps can run with it, those of a lane
  // that keeps its whole length for any number. Where not, a lane that it follows might wait for that step
  // before it goes on. Holds for all such lanes of the plan together, whose rings must be large enough.
  std::vector<bool> may_wait() const;

 private:
  static constexpr std::int64_t kNever = INT64_MIN / 4;
  static constexpr std::int64_t kWhole = std::int64_t{1} << 40;  // more than any sum of offsets
  using Distances = std::array<std::array<std::int64_t, LanePlan::kMaxLanes>, LanePlan::kMaxLanes>;

  static void need(Distances& distances, std::size_t reader, std::size_t source, std::int64_t distance);
  std::optional<std::size_t> cycle_of(Distances distances) const;
  Distances with_rings(std::size_t except) const;

  const LanePlan& plan_;
  Distances edges_;
};

}  // namespace volvox
