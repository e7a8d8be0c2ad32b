#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/request.h"
#include "batching/scheduler.h"
#include "install/installation.h"

namespace volvox {

// Sequences that end by themselves (SequenceSpec::Kind::kStopped): whoever drives a scheduler looks at what
// their steps answered as soon as it is told that they are done, and stops the lanes of those that have
// ended. This is what it knows of one live request. Not thread-safe.
class SequenceEnds {
 public:
  SequenceEnds() = default;
  explicit SequenceEnds(const Lengths& lengths) : lengths_(lengths), ended_(lengths) {}

  // The lengths of the request, as far as is known by now.
  const Lengths& ended() const { return ended_; }

  // A kStepDone of the request. `results`: its results, on the host. Events may follow in `out`. Returns how
  // many steps of the lane are done; those behind the end do not count.
  std::uint32_t step_done(const InstalledModel& model, const Event& event, const std::byte* results,
                          TimePoint now, Scheduler& scheduler, std::vector<Event>& out);

 private:
  Lengths lengths_{}, ended_{};
  Lengths seen_{};  // steps that were looked at
};

}  // namespace volvox
