#include "loadgen/calls/wave_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shapes/random.h"

namespace volvox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void put_number(std::string& bytes, std::uint32_t number, int width) {
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
}

struct Wave {
  std::uint16_t kind = 1, channels = 1, bits = 16;
  std::uint32_t rate = 16000;
  std::vector<std::int16_t> samples{0, 16384, -32768};
  std::string before_data{};    // other chunks
  std::uint32_t data_said = 0;  // 0: as long as it is
};

std::string format_of(const Wave& wave) {
  std::string format;
  put_number(format, wave.kind, 2);
  put_number(format, wave.channels, 2);
  put_number(format, wave.rate, 4);
  put_number(format, wave.rate * 2, 4);
  put_number(format, 2, 2);
  put_number(format, wave.bits, 2);
  return format;
}

std::string chunk(const std::string& name, const std::string& content, std::uint32_t said = 0) {
  std::string bytes = name;
  put_number(bytes, said == 0 ? static_cast<std::uint32_t>(content.size()) : said, 4);
  bytes += content;
  if (content.size() % 2 == 1) bytes.push_back('\0');
  return bytes;
}

std::string bytes_of(const Wave& wave) {
  std::string data;
  for (const std::int16_t sample : wave.samples) put_number(data, static_cast<std::uint16_t>(sample), 2);
  const std::string body =
      "WAVE" + chunk("fmt ", format_of(wave)) + wave.before_data + chunk("data", data, wave.data_said);
  return chunk("RIFF", body);
}

Result<Sound> parse_bytes(const std::string& bytes) {
  return parse_wave(std::as_bytes(std::span(bytes)), "x.wav");
}

std::string why_refused(const std::string& bytes) {
  const auto sound = parse_bytes(bytes);
  if (sound) return "taken";
  EXPECT_EQ(sound.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(sound.error().message, HasSubstr("x.wav"));
  return sound.error().message;
}

TEST(WaveFile, SamplesAreReadAsTheyAre) {
  const auto sound = parse_bytes(bytes_of({}));
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->rate, 16000U);
  EXPECT_THAT(sound->samples, ElementsAre(0.0F, 0.5F, -1.0F));
}

TEST(WaveFile, OtherChunksArePassedOver) {
  const auto sound = parse_bytes(bytes_of({.rate = 8000, .before_data = chunk("LIST", "odd")}));
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->rate, 8000U);
  EXPECT_EQ(sound->samples.size(), 3U);
}

TEST(WaveFile, DataThatWereCutShortAreTakenAsFarAsTheyGo) {
  const auto sound = parse_bytes(bytes_of({.data_said = 0xffffffff}));
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->samples.size(), 3U);
}

TEST(WaveFile, WhatIsNotMonoPcmIsRefused) {
  EXPECT_THAT(why_refused("nonsense"), HasSubstr("no wave file"));
  EXPECT_THAT(why_refused(""), HasSubstr("no wave file"));
  EXPECT_THAT(why_refused(bytes_of({.kind = 3})), HasSubstr("PCM"));
  EXPECT_THAT(why_refused(bytes_of({.bits = 24})), HasSubstr("PCM"));
  EXPECT_THAT(why_refused(bytes_of({.channels = 2})), HasSubstr("2 channels"));
  EXPECT_THAT(why_refused(bytes_of({.rate = 0})), HasSubstr("rate"));
  EXPECT_THAT(why_refused(bytes_of({.samples = {}})), HasSubstr("no samples"));
  EXPECT_THAT(why_refused(chunk("RIFF", "WAVE" + chunk("fmt ", "short"))), HasSubstr("cut short"));
  EXPECT_THAT(why_refused(chunk("RIFF", "WAVE" + chunk("odd ", "ab", 0xfffffffe))), HasSubstr("no format"));
}

// No read beyond the bytes, and an answer to each (the sanitizers look on).
TEST(WaveFile, DamagedFilesNeverCrash) {
  const std::string good = bytes_of({.before_data = chunk("LIST", "whatever")});
  for (std::size_t size = 0; size <= good.size(); ++size)
    static_cast<void>(parse_bytes(good.substr(0, size)));
  SeededRandom random(7);
  std::size_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    refused += parse_bytes(bytes) ? 0 : 1;
  }
  EXPECT_GT(refused, 0U);
}

class WaveFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "volvox-waves-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::filesystem::path folder_;
};

TEST_F(WaveFolder, AllFilesAreReadByName) {
  write("b.wav", bytes_of({.samples = {1, 2}}));
  write("a.wav", bytes_of({.samples = {1}}));
  write("notes.txt", "nothing");
  const auto sounds = read_sounds(folder_.string());
  ASSERT_TRUE(sounds) << sounds.error().message;
  ASSERT_EQ(sounds->size(), 2U);
  EXPECT_EQ((*sounds)[0].samples.size(), 1U);
  const auto one = read_sounds((folder_ / "b.wav").string());
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->front().samples.size(), 2U);
}

TEST_F(WaveFolder, WhatCannotBeUsedIsNamed) {
  EXPECT_THAT(read_sounds(folder_.string()).error().message, HasSubstr("no files"));
  EXPECT_THAT(read_sounds((folder_ / "none.wav").string()).error().message, HasSubstr("none.wav"));
  write("a.wav", bytes_of({}));
  write("b.wav", bytes_of({.rate = 8000}));
  EXPECT_THAT(read_sounds(folder_.string()).error().message, HasSubstr("8000 samples a second"));
  write("b.wav", "nonsense");
  EXPECT_THAT(read_sounds(folder_.string()).error().message, HasSubstr("b.wav"));
}

TEST_F(WaveFolder, LargerFilesThanMayBeAreNotRead) {
  write("a.wav", "RIFF");
  std::filesystem::resize_file(folder_ / "a.wav", kMaxWaveBytes + 1);  // a hole: takes no room
  EXPECT_THAT(read_sounds(folder_.string()).error().message, HasSubstr("larger than"));
}

}  // namespace
}  // namespace volvox
