#include "protocol/key_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace volvox {

Status write_new_file(const std::filesystem::path& file, const std::string& text, ::mode_t mode) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) {
    return fail(ErrorCode::kUnavailable, "cannot write '" + file.string() + "': " + std::strerror(errno));
  }
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<::ssize_t>(text.size());
  if (::close(fd) == 0 && written) return {};
  return fail(ErrorCode::kUnavailable, "cannot write '" + file.string() + "': is the disk full?");
}

}  // namespace volvox
