#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "batching/request.h"
#include "batching/scheduler_config.h"
#include "batching/state_slots.h"

namespace volvox {

// What tasks of a cell type are made of: rows of lanes, or nodes of graphs. Its first request says.
enum class TaskRows : std::uint8_t { kUnknown, kLanes, kNodes };

// Why the scheduler can never run the request, whatever else runs; nothing when it can. `types`, `rows`: by
// type.
std::optional<std::string> why_never(const Request& request, const StateSlots& slots,
                                     const std::vector<TypeConfig>& types, const std::vector<TaskRows>& rows);

}  // namespace volvox
