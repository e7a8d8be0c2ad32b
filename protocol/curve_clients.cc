#include "protocol/curve_clients.h"

#include <array>
#include <cstdint>
#include <system_error>
#include <utility>

#include <zmq.h>

#include "protocol/curve_keys.h"

namespace volvox {
namespace {

constexpr std::size_t kKeyBytes = 32;

std::string raw_key(const std::string& text) {
  std::array<std::uint8_t, kKeyBytes> raw{};
  zmq_z85_decode(raw.data(), text.c_str());
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

std::string z85_key(std::span<const std::byte> raw) {
  std::array<char, kKeyBytes * 5 / 4 + 1> text{};
  zmq_z85_encode(text.data(), reinterpret_cast<const std::uint8_t*>(raw.data()), kKeyBytes);
  return text.data();
}

}  // namespace

Result<CurveClients> CurveClients::in_folder(const std::filesystem::path& folder) {
  CurveClients clients;
  clients.folder_ = folder;
  static_cast<void>(clients.changed());
  if (Status ok = clients.read(); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return clients;
}

// Reads all it can; the first problem is the result.
Status CurveClients::read() {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder_, error);
  if (error)
    return invalid("cannot read the folder of client keys '" + folder_.string() + "': " + error.message());
  names_.clear();
  Status first;
  for (const auto& entry : entries) {
    if (entry.path().extension() != ".key") continue;
    auto keys = read_public_key(entry.path());
    if (keys) {
      names_[raw_key(keys->public_key)] = entry.path().stem().string();
    } else if (first) {
      first = tl::unexpected<Error>(std::move(keys).error());
    }
  }
  return first;
}

// A folder's time changes when a file in it comes, goes or is renamed.
bool CurveClients::changed() {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(folder_, error);
  return std::exchange(read_at_, error ? std::filesystem::file_time_type{} : written) != read_at_;
}

std::optional<std::string> CurveClients::find(std::span<const std::byte> public_key) {
  if (public_key.size() != kKeyBytes) return std::nullopt;
  if (folder_.empty()) return z85_key(public_key);
  // A file may be seen before it is written: then the folder is read again for the next client.
  if (changed() && !read()) read_at_ = {};
  const std::string_view raw(reinterpret_cast<const char*>(public_key.data()), public_key.size());
  const auto found = names_.find(raw);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

}  // namespace volvox
