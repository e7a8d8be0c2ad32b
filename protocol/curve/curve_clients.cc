#include "protocol/curve/curve_clients.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <zmq.h>

#include "protocol/curve/curve_keys.h"

namespace volvox {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::int64_t kYoungNs = 2'000'000'000;  // more than any file system's clock ticks in

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

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// By the clock that files are stamped with.
std::int64_t file_now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

}  // namespace

Result<CurveClients> CurveClients::in_folder(const std::filesystem::path& folder, Duration stale) {
  CurveClients clients;
  clients.folder_ = folder;
  clients.stale_ = stale;
  static_cast<void>(clients.folder_changed());
  if (Status ok = clients.read(); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return clients;
}

// Reads all it can; the first problem is the result. A folder that cannot be read changes nothing.
Status CurveClients::read() {
  std::error_code error;
  std::set<std::string> present;
  Status first;
  std::filesystem::directory_iterator entry(folder_, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".key") continue;
    const std::string name = entry->path().stem().string();
    present.insert(name);
    if (Status ok = read_file(entry->path(), files_[name]); !ok && first) first = std::move(ok);
  }
  trouble_ = error ? folder_.string() + ": " + error.message() : std::string();
  if (error) return invalid("cannot read the folder of client keys " + trouble_);
  std::erase_if(files_, [&](const auto& file) { return !present.contains(file.first); });
  names_.clear();
  for (const auto& [name, file] : files_)
    if (!file.key.empty()) names_[file.key] = name;
  return first;
}

Status CurveClients::read_file(const std::filesystem::path& path, File& file) const {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    file = {};
    return invalid("key file '" + path.string() + "': " + std::strerror(errno));
  }
  const Print print{status.st_ino, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
                    nanoseconds(status.st_ctim)};
  if (!file.key.empty() && !file.young && print == file.print) return {};
  file = {print, file_now() - print.changed_ns < kYoungNs, {}};
  auto keys = read_public_key(path);
  if (!keys) return tl::unexpected<Error>(std::move(keys).error());
  file.key = raw_key(keys->public_key);
  return {};
}

// A folder's time changes when a file in it comes, goes or is renamed.
bool CurveClients::folder_changed() {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(folder_, error);
  return std::exchange(folder_written_, error ? std::filesystem::file_time_type{} : written) !=
         folder_written_;
}

void CurveClients::look(TimePoint now) {
  if (folder_.empty()) return;
  static_cast<void>(folder_changed());
  // A file may be seen before it is written: then the next client's question is reason enough to look again.
  if (!read()) folder_written_ = {};
  if (trouble_.empty()) {
    trouble_since_.reset();
  } else if (!trouble_since_) {
    trouble_since_ = now;
  }
}

std::optional<std::string> CurveClients::find(std::span<const std::byte> public_key, TimePoint now) {
  if (public_key.size() != kKeyBytes) return std::nullopt;
  if (folder_.empty()) return z85_key(public_key);
  if (folder_changed()) look(now);
  if (trouble_since_ && now - *trouble_since_ >= stale_) return std::nullopt;
  const std::string_view raw(reinterpret_cast<const char*>(public_key.data()), public_key.size());
  const auto found = names_.find(raw);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

}  // namespace volvox
