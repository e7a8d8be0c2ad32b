#include "routing/router.h"

#include <string>

namespace volvox {

Status Router::join(NodeId node) {
  if (member_ && *member_ != node) {
    return invalid("node " + std::to_string(*member_) + " is the only member; it must leave first");
  }
  member_ = node;
  return {};
}

void Router::leave(NodeId node) {
  if (member_ == node) member_.reset();
}

Result<NodeId> Router::place(const RequestInfo&) const {
  if (!member_) return fail(ErrorCode::kUnavailable, "no cluster node takes requests now; try again soon");
  return *member_;
}

}  // namespace volvox
