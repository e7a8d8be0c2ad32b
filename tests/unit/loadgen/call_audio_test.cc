#include "loadgen/calls/call_audio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Sound> counting(std::size_t samples) {
  Sound sound{.rate = 16000, .samples = {}};
  for (std::size_t i = 0; i < samples; ++i) sound.samples.push_back(static_cast<float>(i + 1));
  return {sound};
}

std::vector<float> frame_of(const CallAudio& audio, const CallVoice& voice, std::uint64_t number) {
  std::vector<float> scratch(audio.window());
  const auto samples = audio.frame(voice, number, scratch);
  return {samples.begin(), samples.end()};
}

TEST(CallAudio, FramesOverlapAfterSilence) {
  const auto audio = CallAudio::make(counting(10), 4, 3);
  ASSERT_TRUE(audio);
  EXPECT_THAT(frame_of(*audio, {}, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(frame_of(*audio, {}, 1), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(frame_of(*audio, {.offset = 2}, 0), ElementsAre(0, 3, 4, 5));
}

TEST(CallAudio, SoundsBeginAnew) {
  const auto audio = CallAudio::make(counting(5), 4, 3);
  ASSERT_TRUE(audio);
  EXPECT_THAT(frame_of(*audio, {}, 1), ElementsAre(3, 4, 5, 1));
  EXPECT_THAT(frame_of(*audio, {}, 2), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(frame_of(*audio, {.offset = 4}, 0), ElementsAre(0, 5, 1, 2));
}

TEST(CallAudio, AWindowMayBeLongerThanTheSoundAndManyHops) {
  const auto audio = CallAudio::make(counting(2), 7, 2);
  ASSERT_TRUE(audio);
  EXPECT_THAT(frame_of(*audio, {}, 0), ElementsAre(0, 0, 0, 0, 0, 1, 2));
  EXPECT_THAT(frame_of(*audio, {}, 2), ElementsAre(0, 1, 2, 1, 2, 1, 2));
  EXPECT_THAT(frame_of(*audio, {.offset = 1}, 9), ElementsAre(1, 2, 1, 2, 1, 2, 1));
}

// Whatever the sizes: a frame is what one sees who plays the sound over and over after silence.
TEST(CallAudio, EveryFrameIsThatOfTheWholeStream) {
  SeededRandom random(3);
  for (int i = 0; i < 300; ++i) {
    const auto length = 1 + random.below(20);
    const auto hop = static_cast<std::uint32_t>(1 + random.below(8));
    const auto window = static_cast<std::uint32_t>(hop + random.below(12));
    const auto audio = CallAudio::make(counting(length), window, hop);
    ASSERT_TRUE(audio);
    const CallVoice voice = audio->draw(random);
    std::vector<float> stream(window - hop, 0.0F);
    for (std::uint64_t t = 0; t < 30 * hop; ++t)
      stream.push_back(static_cast<float>((voice.offset + t) % length + 1));
    for (std::uint64_t number = 0; number < 30; ++number) {
      const auto* at = stream.data() + number * hop;
      ASSERT_EQ(frame_of(*audio, voice, number), std::vector<float>(at, at + window))
          << length << ' ' << number;
    }
  }
}

TEST(CallAudio, VoicesAreDrawnFromAllSounds) {
  auto sounds = counting(3);
  sounds.push_back(counting(1).front());
  const auto audio = CallAudio::make(std::move(sounds), 1, 1);
  ASSERT_TRUE(audio);
  SeededRandom random(1);
  std::vector<int> drawn(4);
  for (int i = 0; i < 4000; ++i) {
    const CallVoice voice = audio->draw(random);
    ASSERT_LT(voice.offset, voice.sound == 0 ? 3U : 1U);
    ++drawn[voice.sound * 3 + voice.offset];
  }
  for (const int count : drawn) EXPECT_NEAR(count, 1000, 150);
}

TEST(CallAudio, SizesThatMakeNoSenseAreRefused) {
  EXPECT_THAT(CallAudio::make({}, 4, 3).error().message, HasSubstr("sound"));
  EXPECT_THAT(CallAudio::make(counting(5), 2, 3).error().message, HasSubstr("hop"));
  EXPECT_THAT(CallAudio::make(counting(5), 2, 0).error().message, HasSubstr("hop"));
  EXPECT_THAT(CallAudio::make(counting(0), 2, 1).error().message, HasSubstr("no samples"));
}

}  // namespace
}  // namespace volvox
