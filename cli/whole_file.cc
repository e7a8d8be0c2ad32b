#include "cli/whole_file.h"

#include <cstdlib>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace volvox {
namespace {

bool write_all(int fd, const std::string& text, ::mode_t mode) {
  const bool written =
      ::write(fd, text.data(), text.size()) == static_cast<::ssize_t>(text.size()) && ::fchmod(fd, mode) == 0;
  return ::close(fd) == 0 && written;
}

}  // namespace

Status write_whole_file(const std::filesystem::path& file, const std::string& text, ::mode_t mode) {
  std::string unfinished = file.string() + ".XXXXXX";
  const int fd = ::mkstemp(unfinished.data());  // for its owner only
  std::error_code error;
  const bool written = fd >= 0 && write_all(fd, text, mode);
  if (written) std::filesystem::rename(unfinished, file, error);
  if (written && !error) return {};
  if (fd >= 0) ::unlink(unfinished.c_str());
  return fail(ErrorCode::kUnavailable, file.string() + " cannot be written; is its folder there?");
}

}  // namespace volvox
