#include "cli/server/port_file.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace volvox {
namespace {

constexpr ::mode_t kForAll = 0644;  // addresses are no secret

bool write_all(int fd, const std::string& text) {
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<::ssize_t>(text.size()) &&
                       ::fchmod(fd, kForAll) == 0;
  return ::close(fd) == 0 && written;
}

}  // namespace

// By way of a file that nobody else can have put there, in folders that others may write to.
Status write_port_file(const std::string& path, const std::string& lines) {
  std::string unfinished = path + ".XXXXXX";
  const int fd = ::mkstemp(unfinished.data());
  std::error_code error;
  const bool written = fd >= 0 && write_all(fd, lines);
  if (written) std::filesystem::rename(unfinished, path, error);
  if (written && !error) return {};
  if (fd >= 0) ::unlink(unfinished.c_str());
  return fail(ErrorCode::kUnavailable, path + " cannot be written; is its folder there?");
}

}  // namespace volvox
