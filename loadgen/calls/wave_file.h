#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace volvox {

// A mono sound as models of speech take it.
struct Sound {
  std::uint32_t rate = 0;        // samples a second
  std::vector<float> samples{};  // in [-1, 1)
};

inline constexpr std::size_t kMaxWaveBytes = std::size_t{256} << 20;   // of one file
inline constexpr std::size_t kMaxSounds = 4096;                        // files of a folder
inline constexpr std::size_t kMaxSoundSamples = std::size_t{1} << 27;  // of all of them: 2 h at 16 kHz

// Reads a RIFF wave file of 16-bit PCM with one channel and at least one sample. INVALID_ARGUMENT, which
// names `file`, for anything else, whatever the bytes are: no length in them is trusted.
Result<Sound> parse_wave(std::span<const std::byte> bytes, std::string_view file);

// The sound of a wave file, or those of all files *.wav in a folder, by name. INVALID_ARGUMENT when there is
// none, when they differ in their rates, when one is damaged, or past the bounds above.
Result<std::vector<Sound>> read_sounds(const std::string& path);

}  // namespace volvox
