#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace volvox {

// Who may speak with a server: a folder with the public key of each client, in files NAME.key. Files that
// come and go are seen by the next client that connects; connections that stand are left alone. One thread.
class CurveClients {
 public:
  // Everybody who knows the server's public key; the name of each is its own public key, in Z85.
  static CurveClients anybody() { return {}; }
  // INVALID_ARGUMENT when the folder, or a key in it, cannot be read.
  static Result<CurveClients> in_folder(const std::filesystem::path& folder);

  // The name that belongs to a public key (32 bytes, as on the wire), never empty; nothing for one that may
  // not speak.
  // A file that became unreadable since is left out.
  std::optional<std::string> find(std::span<const std::byte> public_key);
  std::size_t size() const { return names_.size(); }

 private:
  CurveClients() = default;
  Status read();
  bool changed();

  std::filesystem::path folder_;  // empty: anybody
  std::filesystem::file_time_type read_at_{};
  std::map<std::string, std::string, std::less<>> names_;  // by raw key
};

}  // namespace volvox
