#include "serving/stop_rule.h"

namespace volvox {

StopStep StopRule::hear(StopAsker who, TimePoint now) {
  const bool begun = deadline_.has_value();
  if (!begun) deadline_ = later(now, at_most_);
  if (who == StopAsker::kSignal) {
    if (!open_) return StopStep::kLeave;
    if (first_signal_ && now - *first_signal_ >= repeat_) return StopStep::kLeave;
    if (!first_signal_) first_signal_ = now;
  }
  return begun ? StopStep::kNone : StopStep::kDrain;
}

}  // namespace volvox
