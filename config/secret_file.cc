#include "config/secret_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace volvox {
namespace {

constexpr ::mode_t kOthers = S_IRWXG | S_IRWXO;

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& file)
      : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

tl::unexpected<Error> wrong(const std::filesystem::path& file, const std::string& what) {
  std::string text = "'";
  return invalid(text.append(file.string()).append("' ").append(what));
}

bool is_credential(const std::filesystem::path& file) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  std::error_code error;
  return folder != nullptr && *folder != '\0' &&
         std::filesystem::equivalent(file.parent_path(), folder, error) && !error;
}

Status check_private(const std::filesystem::path& file, const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return wrong(file, "holds a secret and belongs to another user; chown it to the one that runs this");
  ::mode_t open = status.st_mode & kOthers;
  if (status.st_uid == 0 && is_credential(file)) open &= ~static_cast<::mode_t>(S_IRGRP);
  if (open == 0) return {};
  return wrong(file,
               "holds a secret that others than its owner may read or write; chmod 600 " + file.string());
}

template <class Check>
Result<std::string> read_checked(const std::filesystem::path& file, std::size_t largest, Check check) {
  const Descriptor open(file);
  struct stat status {};
  if (open.fd() < 0 || ::fstat(open.fd(), &status) != 0)
    return wrong(file, std::string("cannot be read: ") + std::strerror(errno) +
                           "; is the path right, and may this user read it?");
  if (!S_ISREG(status.st_mode)) return wrong(file, "is no file");
  if (const Status good = check(status); !good) return tl::unexpected(good.error());
  std::string text(largest + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ::ssize_t got = ::read(open.fd(), text.data() + size, text.size() - size);
    if (got < 0) return wrong(file, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > largest) return wrong(file, "is too large");
  text.resize(size);
  return text;
}

}  // namespace

Result<std::string> read_open_file(const std::filesystem::path& file, std::size_t largest) {
  return read_checked(file, largest, [](const struct stat&) { return Status{}; });
}

Result<std::string> read_secret_file(const std::filesystem::path& file, std::size_t largest) {
  return read_checked(file, largest, [&](const struct stat& status) { return check_private(file, status); });
}

Status write_new_file(const std::filesystem::path& file, const std::string& text, ::mode_t mode) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) {
    return fail(ErrorCode::kUnavailable, "cannot write '" + file.string() + "': " + std::strerror(errno));
  }
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<::ssize_t>(text.size());
  if (::close(fd) == 0 && written) return {};
  ::unlink(file.c_str());  // half of it would be taken for all of it
  return fail(ErrorCode::kUnavailable, "cannot write '" + file.string() + "': is the disk full?");
}

}  // namespace volvox
