#include "routing/typical_costs.h"

namespace volvox {

Duration TypicalCosts::of(const std::string& model, std::uint32_t version, Duration measured) {
  const auto [found, fresh] = by_model_.try_emplace({model, version});
  Entry& entry = found->second;
  if (fresh) {
    entry.cost = unmeasured_;
    entry.place = order_.insert(order_.begin(), found->first);
  } else {
    order_.splice(order_.begin(), order_, entry.place);
  }
  if (measured > Duration::zero()) entry.cost = measured;
  const Duration cost = entry.cost;
  if (by_model_.size() > most_) {
    by_model_.erase(order_.back());
    order_.pop_back();
  }
  return cost;
}

}  // namespace volvox
