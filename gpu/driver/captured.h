#pragma once

#include <utility>

#include "gpu/driver/driver.h"

namespace volvox::gpu {

// The graph of what launch() gives to the stream, of which nothing is run now. Where a launch fails there is
// no graph, and the stream is as before.
template <class Launch>
Result<GraphId> captured(Driver& driver, StreamId stream, Launch launch) {
  if (Status ok = driver.begin_capture(stream); !ok) return tl::unexpected(ok.error());
  const Status launched = launch();
  auto graph = driver.end_capture(stream);
  if (launched) return graph;
  if (graph) driver.destroy_graph(*graph);
  return tl::unexpected(launched.error());
}

}  // namespace volvox::gpu
