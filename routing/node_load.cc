#include "routing/node_load.h"

#include <algorithm>

namespace volvox {
namespace {

constexpr int kReports = 16;  // over about so many is smoothed

}  // namespace

void NodeLoad::reported(Duration others) {
  others = std::clamp(others, Duration::zero(), kMostWork);
  others_ += heard_ ? (others - others_) / kReports : others;
  heard_ = true;
}

}  // namespace volvox
