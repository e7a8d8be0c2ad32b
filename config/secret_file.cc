#include "config/secret_file.h"

#include <system_error>

#include "config/load.h"

namespace volvox {

Result<std::string> read_secret_file(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(file, error);  // of what a link leads to
  constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
  if (!error && fs::is_regular_file(status) && (status.permissions() & kOthers) != fs::perms::none)
    return invalid(file.string() + " holds a secret, and others may read or change it; run chmod 600 on it");
  return read_text_file(file);
}

}  // namespace volvox
