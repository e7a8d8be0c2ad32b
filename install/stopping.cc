#include "install/stopping.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace volvox {
namespace {

// The first of the rows from `from` up to `last` that holds the value that ends the sequence.
std::optional<Step> find_stop(const std::byte* rows, std::int32_t wanted, Step from, Step last) {
  for (Step step = from; step <= last; ++step) {
    std::int32_t value = 0;
    std::memcpy(&value, rows + step * sizeof value, sizeof value);
    if (value == wanted) return step;
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t SequenceEnds::step_done(const InstalledModel& model, const Event& event,
                                      const std::byte* results, TimePoint now, Scheduler& scheduler,
                                      std::vector<Event>& out) {
  const auto& lanes = model.plan.lanes;
  const std::uint8_t number = lanes[event.lane].length_of;
  const SequenceSpec& sequence = model.model->sequences[number];
  std::uint32_t& ended = ended_[number];
  if (sequence.kind == SequenceSpec::Kind::kStopped && sequence.stop.lane == event.lane &&
      event.step < ended) {
    const std::byte* rows = results + result_offset(model, lengths_, sequence.stop.output);
    const auto last = find_stop(rows, sequence.stop.value, seen_[number], event.step);
    seen_[number] = event.step + 1;
    if (last) {
      ended = *last + 1;
      // Those that follow others stand behind them, and are stopped first.
      for (std::size_t lane = lanes.size(); lane-- > 0;) {
        if (lanes[lane].length_of == number)
          scheduler.stop(event.id, static_cast<LaneId>(lane), *last, now, out);
      }
    }
  }
  return std::min(event.step + 1, ended);
}

}  // namespace volvox
