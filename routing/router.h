#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace volvox {

// A cluster node as its members number it.
using NodeId = std::uint32_t;

// What placement may know of a request: its header, never its body.
struct RequestInfo {
  std::string_view model;
  std::uint32_t model_version = 0;  // 0: the newest
  std::uint32_t cells_hint = 0;     // 0: unknown
};

// Somebody must decide which cluster node runs a request. The router keeps the membership and answers that
// question; it sends nothing itself. One process is a cluster of one node so far, so there is one member or
// none. Pure: no clock, no thread, no message. One thread at a time may call.
class Router {
 public:
  // The node takes requests from now on. Fails when another one is the member.
  Status join(NodeId node);
  // It takes none any more. Unknown nodes are ignored.
  void leave(NodeId node);

  // The node that should run the request. UNAVAILABLE when there is none.
  Result<NodeId> place(const RequestInfo& request) const;

 private:
  std::optional<NodeId> member_;
};

}  // namespace volvox
