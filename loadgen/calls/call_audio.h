#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "loadgen/calls/wave_file.h"
#include "shapes/random.h"

namespace volvox {

// What a call is about to say: a sound from some sample on, over and over.
struct CallVoice {
  std::uint32_t sound = 0;
  std::uint64_t offset = 0;  // samples
};

// The frames of all calls of a load. A model of sound sees `window` samples at a time, of which the last
// `hop` are new; before a call's first sample there is silence. Sounds are kept once, with as much of their
// beginning behind their end as a frame needs, so that a frame is a view and nothing is copied. Immutable;
// any thread.
class CallAudio {
 public:
  // INVALID_ARGUMENT without any sound, or for a window that is shorter than its hop.
  static Result<CallAudio> make(std::vector<Sound> sounds, std::uint32_t window, std::uint32_t hop);

  std::uint32_t window() const { return window_; }
  std::uint32_t hop() const { return hop_; }
  std::uint32_t rate() const { return rate_; }

  // Anywhere in any of the sounds, all samples of all of them being as likely.
  CallVoice draw(SeededRandom& random) const;

  // Frame `number` of the call: `window` samples, valid as long as this is. `scratch` has room for as many;
  // they lie there if the frame begins before the call.
  std::span<const float> frame(const CallVoice& voice, std::uint64_t number, std::span<float> scratch) const;

 private:
  CallAudio() = default;

  struct Looped {
    std::size_t length = 0;      // samples before it repeats
    std::vector<float> samples;  // length + window of them
  };
  std::uint32_t window_ = 0, hop_ = 0, rate_ = 0;
  std::vector<Looped> sounds_;
  std::vector<std::uint64_t> ends_;  // sums of the lengths
};

}  // namespace volvox
