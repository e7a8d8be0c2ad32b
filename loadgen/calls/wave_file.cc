#include "loadgen/calls/wave_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

namespace volvox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t kPcm = 1, kExtensible = 0xfffe;
constexpr std::size_t kFormatBytes = 16, kExtensibleBytes = 40;
constexpr std::size_t kSubFormatAt = 24;  // whose first two bytes are the format, in an extensible one

// Little-endian; the caller has seen that the bytes are there.
template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T number = 0;
  for (std::size_t i = sizeof(T); i-- > 0;)
    number = static_cast<T>(number << 8U | std::to_integer<T>(bytes[at + i]));
  return number;
}

bool says(std::span<const std::byte> bytes, std::size_t at, const char (&word)[5]) {
  return bytes.size() >= at + 4 && std::memcmp(bytes.data() + at, word, 4) == 0;
}

// The chunk of this name, after the header of the file; a last one may be cut short, as of a recording that
// was interrupted.
std::optional<std::span<const std::byte>> find_chunk(std::span<const std::byte> bytes,
                                                     const char (&name)[5]) {
  for (std::size_t at = 12; bytes.size() - at >= 8;) {
    const std::size_t said = number_at<std::uint32_t>(bytes, at + 4);
    const std::size_t there = std::min(said, bytes.size() - at - 8);
    if (says(bytes, at, name)) return bytes.subspan(at + 8, there);
    const std::size_t padded = said + (said & 1U);
    if (padded > bytes.size() - at - 8) return std::nullopt;
    at += 8 + padded;
  }
  return std::nullopt;
}

// Why a sound of this format is not taken; empty if it is.
std::string complaint_about(std::span<const std::byte> format) {
  if (format.size() < kFormatBytes) return "its format is cut short";
  auto kind = number_at<std::uint16_t>(format, 0);
  if (kind == kExtensible && format.size() >= kExtensibleBytes)
    kind = number_at<std::uint16_t>(format, kSubFormatAt);
  const auto channels = number_at<std::uint16_t>(format, 2), bits = number_at<std::uint16_t>(format, 14);
  if (kind != kPcm || bits != 16) return "is not of 16-bit PCM samples; convert it";
  if (channels != 1) return "has " + std::to_string(channels) + " channels; make it mono";
  if (number_at<std::uint32_t>(format, 4) == 0) return "has no sample rate";
  return {};
}

Result<std::vector<std::byte>> read_bytes(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return invalid(path.string() + ": cannot be read: " + error.message());
  if (size > kMaxWaveBytes)
    return invalid(path.string() + ": is larger than " + std::to_string(kMaxWaveBytes) + " bytes");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return invalid(path.string() + ": cannot be read");
  return bytes;
}

Result<std::vector<fs::path>> files_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() == ".wav" && it->is_regular_file(ignored)) files.push_back(it->path());
    if (files.size() > kMaxSounds)
      return invalid(path.string() + ": holds more than " + std::to_string(kMaxSounds) + " files *.wav");
  }
  if (error) return invalid(path.string() + ": cannot be read: " + error.message());
  if (files.empty()) return invalid(path.string() + ": holds no files *.wav");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<Sound> parse_wave(std::span<const std::byte> bytes, std::string_view file) {
  const auto refused = [&](const std::string& why) { return invalid(std::string(file) + ": " + why); };
  if (!says(bytes, 0, "RIFF") || !says(bytes, 8, "WAVE")) return refused("is no wave file (RIFF)");
  const auto format = find_chunk(bytes, "fmt ");
  if (!format) return refused("has no format (fmt)");
  if (const std::string complaint = complaint_about(*format); !complaint.empty()) return refused(complaint);
  const auto data = find_chunk(bytes, "data");
  if (!data || data->size() < 2) return refused("has no samples");
  Sound sound;
  sound.rate = number_at<std::uint32_t>(*format, 4);
  sound.samples.resize(data->size() / 2);
  for (std::size_t i = 0; i < sound.samples.size(); ++i) {
    const auto sample = static_cast<std::int16_t>(number_at<std::uint16_t>(*data, 2 * i));
    sound.samples[i] = static_cast<float>(sample) / 32768.0F;
  }
  return sound;
}

Result<std::vector<Sound>> read_sounds(const std::string& path) {
  const auto files = files_of(path);
  if (!files) return tl::unexpected(files.error());
  std::vector<Sound> sounds;
  std::size_t samples = 0;
  for (const fs::path& file : *files) {
    const auto bytes = read_bytes(file);
    if (!bytes) return tl::unexpected(bytes.error());
    auto sound = parse_wave(*bytes, file.string());
    if (!sound) return tl::unexpected(sound.error());
    samples += sound->samples.size();
    if (samples > kMaxSoundSamples)
      return invalid(path + ": holds more than " + std::to_string(kMaxSoundSamples) + " samples");
    if (!sounds.empty() && sounds.front().rate != sound->rate) {
      return invalid(file.string() + ": has " + std::to_string(sound->rate) +
                     " samples a second, those before it " + std::to_string(sounds.front().rate));
    }
    sounds.push_back(std::move(*sound));
  }
  return sounds;
}

}  // namespace volvox
