#include "protocol/curve/curve_keys.h"

#include <array>
#include <cstdint>
#include <sstream>

#include <zmq.h>

#include "config/secret_file.h"

namespace volvox {
namespace {

constexpr std::size_t kKeyCharacters = 40;
using Key = std::array<char, kKeyCharacters + 1>;
constexpr std::size_t kLargestKeyFile = 65'536;

bool is_key(const std::string& text) {
  std::array<std::uint8_t, 32> raw{};
  return text.size() == kKeyCharacters && zmq_z85_decode(raw.data(), text.c_str()) != nullptr;
}

tl::unexpected<Error> in_file(const std::filesystem::path& file, const std::string& what) {
  return invalid("key file '" + file.string() + "': " + what);
}

// The value in `name = "value"`; empty if there is none.
std::string value_in(const std::string& line, const std::string& name) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string::npos || line.compare(start, name.size(), name) != 0) return {};
  const std::size_t open = line.find('"', start + name.size());
  const std::size_t close = line.find('"', open + 1);
  if (open == std::string::npos || close == std::string::npos) return {};
  return line.substr(open + 1, close - open - 1);
}

Result<CurveKeys> find_keys(const std::filesystem::path& file, const Result<std::string>& text) {
  if (!text) return invalid("key file " + text.error().message);
  CurveKeys keys;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (auto value = value_in(line, "public-key"); !value.empty()) keys.public_key = std::move(value);
    if (auto value = value_in(line, "secret-key"); !value.empty()) keys.secret_key = std::move(value);
  }
  if (!is_key(keys.public_key))
    return in_file(file, "has no valid public-key; `volvox keys` writes such files");
  return keys;
}

Status write_keys(const std::filesystem::path& file, const CurveKeys& keys, ::mode_t mode) {
  std::string text =
      "#   A CURVE certificate of Volvox.\nmetadata\ncurve\n    public-key = \"" + keys.public_key + "\"\n";
  if (!keys.secret_key.empty()) text += "    secret-key = \"" + keys.secret_key + "\"\n";
  return write_new_file(file, text, mode);
}

}  // namespace

Result<CurveKeys> new_curve_keys() {
  Key public_key{}, secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    return fail(ErrorCode::kUnavailable, "this ZeroMQ cannot encrypt (built without CURVE)");
  }
  return CurveKeys{public_key.data(), secret_key.data()};
}

Result<CurveKeys> read_public_key(const std::filesystem::path& file) {
  auto keys = find_keys(file, read_open_file(file, kLargestKeyFile));
  if (keys) keys->secret_key.clear();
  return keys;
}

Result<CurveKeys> read_secret_key(const std::filesystem::path& file) {
  auto keys = find_keys(file, read_secret_file(file, kLargestKeyFile));
  if (!keys) return keys;
  Key derived{};
  if (!is_key(keys->secret_key)) return in_file(file, "has no valid secret-key; give the secret file");
  if (zmq_curve_public(derived.data(), keys->secret_key.c_str()) != 0 || keys->public_key != derived.data()) {
    return in_file(file, "its two keys do not belong together");
  }
  return keys;
}

Status write_public_key(const std::filesystem::path& file, const CurveKeys& keys) {
  return write_keys(file, {keys.public_key, {}}, 0644);
}

Status write_secret_key(const std::filesystem::path& file, const CurveKeys& keys) {
  return write_keys(file, keys, 0600);
}

}  // namespace volvox
