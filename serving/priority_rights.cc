#include "serving/priority_rights.h"

#include <algorithm>

namespace volvox {

PriorityRights::PriorityRights(const ServeConfig& config) {
  if (config.security.server_key.empty()) return;
  highest_ = PriorityChoice::kNormal;
  for (const ClientSection& client : config.client) by_account_.emplace(client.name, client.max_priority);
}

// The classes are numbered from the highest on.
PriorityChoice PriorityRights::allowed(std::string_view account, PriorityChoice wanted) const {
  const auto own = by_account_.find(account);
  return std::max(wanted, own == by_account_.end() ? highest_ : own->second);
}

}  // namespace volvox
