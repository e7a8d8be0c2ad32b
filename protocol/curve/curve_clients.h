#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/time.h"

namespace volvox {

// Who may speak with a server: a folder with the public key of each client, in files NAME.key. Files that
// come and go are seen by the next client that connects, files that are written over by the next look();
// connections that stand are left alone. While the folder cannot be read the clients known before are let in,
// but not for ever: nobody could be shut out. One thread; time is an argument.
class CurveClients {
 public:
  // Everybody who knows the server's public key; the name of each is its own public key, in Z85.
  static CurveClients anybody() { return {}; }
  // INVALID_ARGUMENT when the folder, or a key in it, cannot be read. `stale`: a folder that cannot be read
  // for so long lets nobody in.
  static Result<CurveClients> in_folder(const std::filesystem::path& folder,
                                        Duration stale = std::chrono::seconds(60));

  // Reads what has changed. A key that cannot be read is left out. To be called every second or so.
  void look(TimePoint now);
  // The name that belongs to a public key (32 bytes, as on the wire), never empty; nothing for one that may
  // not speak.
  std::optional<std::string> find(std::span<const std::byte> public_key, TimePoint now);
  std::size_t size() const { return names_.size(); }
  // Why the folder cannot be read; empty: it can.
  const std::string& trouble() const { return trouble_; }

 private:
  // What changes when a file does, unless it is written twice within a tick of the file system's clock.
  struct Print {
    std::uint64_t inode = 0, size = 0;
    std::int64_t written_ns = 0, changed_ns = 0;
    auto operator<=>(const Print&) const = default;
  };
  struct File {
    Print print;
    bool young = true;  // when it was read, so that the next change might look the same
    std::string key;    // raw; empty: it could not be read
  };

  CurveClients() = default;
  Status read();
  Status read_file(const std::filesystem::path& path, File& file) const;
  bool folder_changed();

  std::filesystem::path folder_;  // empty: anybody
  Duration stale_{};
  std::filesystem::file_time_type folder_written_{};
  std::map<std::string, File> files_;                      // by the client's name
  std::map<std::string, std::string, std::less<>> names_;  // by raw key
  std::string trouble_;
  std::optional<TimePoint> trouble_since_;
};

}  // namespace volvox
