#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/calls/call_audio.h"
#include "loadgen/calls/call_link.h"
#include "loadgen/calls/call_tally.h"

namespace volvox {

// A load of live calls, as a user asks for it.
struct CallPlan {
  std::uint32_t calls = 1;        // at once
  std::uint32_t connections = 1;  // that share them; each has a thread of its own
  Duration jitter{};              // see CallRhythm
  double leaves = 0.01;
  Duration late_after{};  // 0: a frame's period
  Duration tick{};        // frames go out together so often; 0: each when it is due
  Duration warmup = std::chrono::seconds(1), measured{};  // the calls join during the warm-up
  Duration timeout = std::chrono::seconds(30);            // what is not answered for so long is lost
  std::uint32_t behind = 31;  // frames without an answer at which a call gives up, at most CallWindow::kMost
  std::uint32_t recorded_calls = 0;     // of the first ones, whose answers are kept …
  std::uint32_t recorded_frames = 512;  // … up to so many frames of each
  std::uint64_t seed = 1;
};

// The beginning of a call, as it was answered: for whoever knows the right answers.
struct CallRecord {
  CallVoice voice{};
  std::uint32_t frames = 0;
  std::vector<std::vector<std::byte>> outputs{};  // the rows of each, back to back
};

struct CallOutcome {
  CallTally tally{};
  CallLinkCounts link{};
  std::uint64_t joins = 0, leaves = 0;  // while it was measured
  std::uint64_t dropped = 0;            // of these leaves: had fallen too far behind
  std::uint64_t ended = 0;              // calls that the server ended, or refused for good
  std::uint32_t live = 0;               // when the measurement ended
  double seconds = 0;                   // of the measurement
  double cpu_seconds = 0;               // of this process, meanwhile
  std::vector<CallRecord> records{};

  void merge(CallOutcome&& other);
};

// Of one connection, for calls in as many slots.
using CallLinkFactory = std::function<Result<std::unique_ptr<CallLink>>(std::uint32_t slots)>;

// Keeps the calls going: each a session of which a frame of sound is sent every `hop` samples, when it is due
// and whatever the server does. A frame that fails is sent again after a while; a call that is too far behind
// is given up and replaced. When the time is over, or at a stop, each call ends with its next frame.
Result<CallOutcome> run_call_load(const CallPlan& plan, const CallAudio& audio, const CallLinkFactory& open,
                                  const std::stop_token& stop);

}  // namespace volvox
