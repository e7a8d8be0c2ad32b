#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "loadgen/calls/call_load.h"

namespace volvox {

// What a load of calls found, for people and for programs (docs/operation.md).
struct CallSummary {
  CallPlan plan{};
  CallOutcome outcome{};
  bool verifies = false;
  std::uint64_t verified = 0, wrong = 0;  // frames of recorded calls that were compared; of these
  std::string first_wrong{};              // what was wrong with the first
};

// Knows the right answers: the model's outputs over the first `frames` frames of a call, as one request that
// stands alone gives them, in the order of the model's outputs, rows back to back; an output that has one row
// whatever the length has that of the last frame.
using CallModel = std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const float> rows,
                                                                            std::uint32_t frames)>;

// Compares the recorded calls, bit for bit, and adds what it finds. The error is the model's.
Status verify_calls(const CallAudio& audio, const CallModel& model, CallSummary& summary);

// Whether every frame was answered, once, and rightly.
bool is_good(const CallSummary& summary);
std::string to_text(const CallSummary& summary);
std::string to_json_text(const CallSummary& summary);

}  // namespace volvox
