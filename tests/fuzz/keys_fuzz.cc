// A file as a public and as a secret key: it is refused by a typed error, or holds keys of 40 characters
// each.

#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/curve/curve_keys.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

constexpr std::size_t kKeyChars = 40;

// A file in memory that only its owner can read.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size) : fd_(::memfd_create("key", MFD_CLOEXEC)) {
    require(fd_ >= 0 && ::fchmod(fd_, 0600) == 0, "there is a file");
    require(::write(fd_, data, size) == static_cast<::ssize_t>(size), "a file can be written");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox::fuzz;
  const File file(data, size);
  if (const auto open = volvox::read_public_key(file.path())) {
    require(open->public_key.size() == kKeyChars, "a public key has its length");
  } else {
    require_refusal(open.error());
  }
  if (const auto secret = volvox::read_secret_key(file.path())) {
    require(secret->secret_key.size() == kKeyChars, "a secret key has its length");
    require(secret->public_key.size() == kKeyChars, "both halves are there");
  } else {
    require_refusal(secret.error());
  }
  return 0;
}
