#include "actors/edge/accept_guard.h"

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace volvox {
namespace {

constexpr std::chrono::milliseconds kPause{10};
constexpr std::size_t kReserve = 8;

// Not accept(), which may be this guard itself.
int plain_accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(::syscall(SYS_accept4, listener, address, size, flags));
}

std::uint16_t local_port(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

std::optional<std::uint64_t> inode_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return status.st_ino;
}

}  // namespace

AcceptGuard& AcceptGuard::of_process() {
  static AcceptGuard guard;
  return guard;
}

AcceptGuard::AcceptGuard() {
  refill();
}

AcceptGuard::~AcceptGuard() {
  for (const int fd : reserve_) ::close(fd);
}

void AcceptGuard::refill() {
  while (reserve_.size() < kReserve) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    reserve_.push_back(fd);
  }
}

void AcceptGuard::bound(std::uint16_t port, std::size_t connections, std::function<void()> refused) {
  const std::lock_guard lock(mutex_);
  Port& entry = ports_[port];
  entry.most = connections;
  entry.refused = std::move(refused);
}

void AcceptGuard::forget(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  ports_.erase(port);
}

int AcceptGuard::accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  const int fd = plain_accept(listener, address, size, flags);
  if (fd < 0 && errno != EMFILE && errno != ENFILE) return fd;
  std::unique_lock lock(mutex_);
  Port* port = port_of(listener);
  if (fd >= 0) refill();
  if (fd >= 0 && (port == nullptr || take(*port, fd))) return fd;
  if (fd < 0 && port == nullptr && local_port(listener) != 0) {
    const int kept = accept_with_reserve(listener, address, size, flags);
    if (kept >= 0) return kept;
    // Asked again, but not at once for ever.
    lock.unlock();
    std::this_thread::sleep_for(kPause);
    errno = EMFILE;
    return -1;
  }
  if (fd >= 0) {
    ::close(fd);
  } else if (!give_way(listener)) {
    errno = EMFILE;
    return -1;
  }
  if (port != nullptr && port->refused) port->refused();
  errno = ECONNABORTED;
  return -1;
}

int AcceptGuard::accept_with_reserve(int listener, sockaddr* address, socklen_t* size, int flags) {
  if (reserve_.empty()) return -1;
  ::close(reserve_.back());
  reserve_.pop_back();
  return plain_accept(listener, address, size, flags);
}

// Takes and closes the connection that there was no descriptor for. False: not even that can be done.
bool AcceptGuard::give_way(int listener) {
  const int fd = accept_with_reserve(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) ::close(fd);
  refill();
  return fd >= 0;
}

AcceptGuard::Port* AcceptGuard::port_of(int listener) {
  if (ports_.empty()) return nullptr;
  const auto found = ports_.find(local_port(listener));
  return found == ports_.end() ? nullptr : &found->second;
}

// Who has gone since is found out when there seem to be too many.
bool AcceptGuard::take(Port& port, int fd) {
  const auto inode = inode_of(fd);
  if (!inode) return false;
  if (port.accepted.size() >= port.most)
    std::erase_if(port.accepted, [](const Accepted& one) { return inode_of(one.fd) != one.inode; });
  if (port.accepted.size() >= port.most) return false;
  port.accepted.push_back({fd, *inode});
  return true;
}

}  // namespace volvox
