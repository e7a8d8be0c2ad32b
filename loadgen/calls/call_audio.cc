#include "loadgen/calls/call_audio.h"

#include <algorithm>
#include <string>
#include <utility>

namespace volvox {

Result<CallAudio> CallAudio::make(std::vector<Sound> sounds, std::uint32_t window, std::uint32_t hop) {
  if (sounds.empty()) return invalid("calls need a sound");
  if (hop == 0 || window < hop)
    return invalid("a window of " + std::to_string(window) + " samples cannot hold a hop of " +
                   std::to_string(hop) + "; a hop is 1 sample to a whole window");
  CallAudio audio;
  audio.window_ = window;
  audio.hop_ = hop;
  audio.rate_ = sounds.front().rate;
  std::uint64_t end = 0;
  for (Sound& sound : sounds) {
    if (sound.samples.empty()) return invalid("a sound has no samples");
    Looped looped{sound.samples.size(), std::move(sound.samples)};
    looped.samples.reserve(looped.length + window);
    for (std::size_t i = 0; i < window; ++i) looped.samples.push_back(looped.samples[i]);
    end += looped.length;
    audio.ends_.push_back(end);
    audio.sounds_.push_back(std::move(looped));
  }
  return audio;
}

CallVoice CallAudio::draw(SeededRandom& random) const {
  const std::uint64_t at = random.below(ends_.back());
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), at);
  const auto sound = static_cast<std::uint32_t>(found - ends_.begin());
  return {sound, at - (ends_[sound] - sounds_[sound].length)};
}

std::span<const float> CallAudio::frame(const CallVoice& voice, std::uint64_t number,
                                        std::span<float> scratch) const {
  const Looped& sound = sounds_[voice.sound];
  const std::uint64_t end = (number + 1) * hop_;  // samples of the call so far
  if (end >= window_) return {sound.samples.data() + (voice.offset + end - window_) % sound.length, window_};
  const auto silence = static_cast<std::size_t>(window_ - end);
  std::fill_n(scratch.begin(), silence, 0.0F);
  const float* begin = sound.samples.data() + voice.offset % sound.length;
  std::copy_n(begin, end, scratch.begin() + static_cast<std::ptrdiff_t>(silence));
  return scratch.first(window_);
}

}  // namespace volvox
