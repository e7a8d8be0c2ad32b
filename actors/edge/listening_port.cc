#include "actors/edge/listening_port.h"

#include <algorithm>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace volvox {
namespace {

bool listens(int fd, std::uint16_t port) {
  int listening = 0;
  socklen_t size = sizeof(listening);
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0) return false;
  sockaddr_storage address{};
  size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port) == port;
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port) == port;
  return false;
}

int most_descriptors() {
  constexpr rlim_t kMost = 1 << 20;
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int>(std::min(limit.rlim_cur, kMost)) : 1024;
}

}  // namespace

bool ListeningPort::is_open() {
  const std::lock_guard lock(mutex_);
  if (listens(listener_, port_)) return true;
  const int most = most_descriptors();
  for (listener_ = 0; listener_ < most; ++listener_)
    if (listens(listener_, port_)) return true;
  return false;
}

}  // namespace volvox
