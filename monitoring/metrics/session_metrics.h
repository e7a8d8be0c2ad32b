#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

namespace volvox {

// What the sessions of one process do now, and have done; docs/operation.md says what each number means.
struct SessionFigures {
  std::uint64_t live = 0, ending = 0, remembered = 0, resident = 0, spilled = 0, copying = 0, in_line = 0;
  std::uint64_t running = 0, waiting = 0, kept_outputs = 0, kept_bytes = 0, host_bytes = 0;
  std::uint64_t parked = 0, parked_bytes = 0, parked_too_long = 0;
  std::uint64_t begun = 0, committed = 0, failed = 0, repeated = 0, refused = 0, conflicts = 0;
  std::uint64_t over_share = 0, gave_way = 0;
  std::uint64_t clients = 0, most_sessions = 0, most_kept_bytes = 0, most_host_bytes = 0;
  std::uint64_t spills = 0, failed_spills = 0, restores = 0, moves = 0;
  std::array<std::pair<std::string_view, std::uint64_t>, 5> releases{};  // by reason
};

// Whoever keeps the sessions says what there is after every event; that must cost next to nothing. The
// figures are made into metrics when somebody asks. Nothing is shown before the first ones. Any thread.
class SessionMetrics : public prometheus::Collectable {
 public:
  void publish(const SessionFigures& figures);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable std::mutex mutex_;
  std::optional<SessionFigures> figures_;
};

}  // namespace volvox
