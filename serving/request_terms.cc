#include "serving/request_terms.h"

#include <algorithm>

namespace volvox {

RequestTerms terms_of(std::span<const ModelSection> models, std::string_view model, RequestTerms asked) {
  const auto table = std::find_if(models.begin(), models.end(),
                                  [&](const ModelSection& section) { return section.name == model; });
  if (table == models.end()) return asked;
  const std::uint64_t longest = std::uint64_t{table->max_deadline_ms} * 1000;
  std::uint64_t& deadline = asked.deadline_us;
  if (deadline == 0) deadline = std::uint64_t{table->default_deadline_ms} * 1000;
  if (longest != 0) deadline = deadline == 0 ? longest : std::min(deadline, longest);
  if (asked.priority == PriorityChoice::kNormal) asked.priority = table->priority;
  return asked;
}

}  // namespace volvox
