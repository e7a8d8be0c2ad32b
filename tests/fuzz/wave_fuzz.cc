// A wave file: it is refused by a typed error, or it is a sound with no more samples than there are bytes
// for.

#include <algorithm>
#include <span>

#include "loadgen/calls/wave_file.h"
#include "tests/fuzz/parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox;
  const auto sound = parse_wave(std::as_bytes(std::span(data, size)), "x.wav");
  if (!sound) {
    fuzz::require_refusal(sound.error());
    return 0;
  }
  fuzz::require(sound->rate > 0 && !sound->samples.empty(), "a sound has a rate, and samples");
  fuzz::require(2 * sound->samples.size() <= size, "each sample has its bytes");
  fuzz::require(std::ranges::all_of(sound->samples, [](float x) { return x >= -1 && x < 1; }),
                "samples are in [-1, 1)");
  return 0;
}
