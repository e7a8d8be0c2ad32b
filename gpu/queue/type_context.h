#pragma once

#include <map>
#include <string>
#include <utility>

#include "gpu/queue/queue_context.h"

namespace volvox::gpu {

// What a queue keeps for one cell type. Graphs hold the addresses of all of it. Private to queue/.
struct QueueContext::TypeContext {
  const GpuCell* cell = nullptr;
  std::string name;  // for profilers
  DeviceMemory scratch, rows, table;
  // Of tasks that are graphs; and of direct ones in turn, for the rows of the next are found while a task
  // runs.
  RowView view{}, direct[2]{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, GraphId> graphs;  // by size and edges

  void destroy_graphs(Driver& driver) {
    for (const auto& [key, graph] : graphs) driver.destroy_graph(graph);
    graphs.clear();
  }
};

}  // namespace volvox::gpu
