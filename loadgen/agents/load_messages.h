#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/requests/request_mix.h"
#include "loadgen/run/connection.h"
#include "loadgen/run/run.h"

namespace volvox {

// What the coordinator of a load and its agents tell each other, as plain values; protocol/load.capnp says
// how it travels, docs/load.md how they work together. Instants are nanoseconds of the clock of whoever is
// named, since machines have no clock in common.

inline constexpr std::uint16_t kLoadProtocolVersion = 1;

// A part of a load, for one agent.
struct LoadJob {
  std::string endpoint;  // of the server; several with commas
  RequestMix mix;
  std::vector<ConnectionPlan> parts{};
};

struct ClockQuestion {
  std::int64_t asked = 0;  // coordinator
};
struct ClockAnswer {
  std::int64_t asked = 0, received = 0, answered = 0;  // coordinator, agent, agent
};
struct JobReady {};
struct JobRefused {
  Error why;
};
struct JobStart {
  std::int64_t at = 0;  // agent
};
struct JobStop {};
struct JobState {
  std::uint64_t offered = 0, completed = 0, failed = 0, latency_ns = 0;  // since the start
  std::uint64_t worst_late_ns = 0;                                       // since the last one
};
// The scheduled instants of entries count from the start: they stand at TimePoint() + time since then.
struct JobRecords {
  std::vector<AnswerSample> samples{};
  Timeline timeline{};
};
// `outcome` without samples and timeline, which came before.
struct JobResult {
  LoadOutcome outcome;
  std::string cut;  // why it ended before the plan did; empty: it did not
};
// Of a kind that this program does not know.
struct LoadUnknown {};

using LoadMessage = std::variant<LoadUnknown, ClockQuestion, ClockAnswer, LoadJob, JobReady, JobRefused,
                                 JobStart, JobStop, JobState, JobRecords, JobResult>;

}  // namespace volvox
