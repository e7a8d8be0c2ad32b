#include "actors/edge/detours.h"

namespace volvox {

Detour Detours::take(std::uint64_t connection, bool large) {
  if (!large && all_ == 0) return {};
  const std::lock_guard lock(mutex_);
  if (!large && !under_way_.contains(connection)) return {};
  ++under_way_[connection];
  ++all_;
  return {shared_from_this(), connection};
}

void Detours::give_back(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(connection);
  if (--found->second == 0) under_way_.erase(found);
  --all_;
}

}  // namespace volvox
