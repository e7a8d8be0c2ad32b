#pragma once

#include <cstdint>
#include <vector>

#include "batching/live_request.h"
#include "batching/scheduler_config.h"

namespace volvox {

// Of each type, how many rows its next task would have if no cell of another type had to run before: of a
// lane whose steps read each other one, of any other lane all steps that are left. The share of them that is
// ready says how much a type would gain by letting others go first (ED-Batch, equation 1). Kept for requests
// of more than one lane, lane by lane as they move; of all workers together. Not thread-safe.
class LaneFrontiers {
 public:
  explicit LaneFrontiers(std::size_t types) : rows_(types, 0) {}

  void grow(std::size_t types) {
    if (rows_.size() < types) rows_.resize(types, 0);
  }
  // Rows of the type; 0 where nothing is known of it.
  std::uint32_t operator[](CellTypeId type) const { return rows_[type]; }

  // The request, which has several lanes, begins / ends, whatever is left of it.
  void enter(const LiveRequest& live, const std::vector<TypeConfig>& types) { add(live, types, 1); }
  void leave(const LiveRequest& live, const std::vector<TypeConfig>& types) { add(live, types, ~0U); }
  // A lane of such a request has so many rows less: they run, or never will.
  void take(const TypeConfig& type, std::uint32_t rows) { rows_[type.id] -= rows; }
  // It has submitted its last step.
  void end(const TypeConfig& type) { rows_[type.id] -= type.independent ? 0 : 1; }

 private:
  // `sign`: 1, or what wraps like -1.
  void add(const LiveRequest& live, const std::vector<TypeConfig>& types, std::uint32_t sign);

  std::vector<std::uint32_t> rows_;  // by type
};

}  // namespace volvox
