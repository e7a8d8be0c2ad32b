#pragma once

#include <chrono>

#include "base/time.h"

namespace volvox {

// No request, and no node, is taken for busier: so that no sum of what many requests mean overflows, whatever
// was said of each.
inline constexpr Duration kMostWork = std::chrono::hours(1);

// How busy is a node? Its reports are 100 ms old when they count, while a request may take 20 ms: routers
// that believed them would all send to the node that looked idle, until the next report. What a router has in
// flight itself it knows at once, and of the others it needs only what lasts: who always has more, a node
// that is slow. So the estimate is its own work, exactly, plus the others', smoothed over some reports.
//
// Work is time until the node would be idle, by the node's own measured costs. Pure; one thread at a time.
class NodeLoad {
 public:
  // A request that means so much work goes to the node; and its end, with the same number.
  void sent(Duration work) { own_ += work; }
  void finished(Duration work) { own_ -= work; }
  // What other routers' requests leave to do there.
  void reported(Duration others);

  Duration estimate() const { return own_ + others_; }

 private:
  Duration own_{}, others_{};
  bool heard_ = false;
};

}  // namespace volvox
