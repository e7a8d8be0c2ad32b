#include "actors/http/peer_socket.h"

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace volvox {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

std::uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

bool is_connection(int fd, const PeerAddress& peer) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 || port_of(address) != peer.port)
    return false;
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0 ||
      peer.host != host.data())
    return false;
  size = sizeof address;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         port_of(address) == peer.local_port;
}

int look_everywhere(const PeerAddress& peer) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
  if (!folder) return -1;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    int fd = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec != std::errc{}) continue;
    if (is_connection(fd, peer)) return fd;
  }
  return -1;
}

}  // namespace

int SocketFinder::find(const PeerAddress& peer) {
  for (const auto& before : found_) {
    const int fd = before.load(std::memory_order_relaxed);
    if (is_connection(fd, peer)) return fd;
  }
  const int fd = look_everywhere(peer);
  if (fd >= 0) found_[oldest_++ % found_.size()].store(fd, std::memory_order_relaxed);
  return fd;
}

bool has_hung_up(int socket) {
  pollfd ask{socket, POLLRDHUP, 0};
  return poll(&ask, 1, 0) > 0 && (ask.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace volvox
