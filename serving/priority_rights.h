#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/schema.h"

namespace volvox {

// `high` is worth something only while not everybody asks for it. Where clients have keys, the operator says
// who may; without keys nobody can be told from another, and everybody may. Immutable; any thread.
class PriorityRights {
 public:
  explicit PriorityRights(const ServeConfig& config);

  // What becomes of a request of this account (empty: it showed no key) that asks for `wanted`.
  PriorityChoice allowed(std::string_view account, PriorityChoice wanted) const;

 private:
  PriorityChoice highest_ = PriorityChoice::kHigh;                 // of those without a table
  std::map<std::string, PriorityChoice, std::less<>> by_account_;  // likewise, of those with one
};

}  // namespace volvox
