#include "monitoring/metrics/outcomes.h"

#include <algorithm>

namespace volvox {

std::size_t outcome_of(std::optional<ErrorCode> error) {
  return error ? std::min(static_cast<std::size_t>(*error), kOutcomes - 1) : 0;
}

std::string outcome_label(std::size_t outcome) {
  if (outcome == 0) return "ok";
  std::string label(to_string(static_cast<ErrorCode>(outcome)));
  std::transform(label.begin(), label.end(), label.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return label;
}

}  // namespace volvox
