#include "monitoring/http/listener.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "config/addresses.h"

namespace volvox {
namespace {

constexpr int kBacklog = 256;
constexpr int kTries = 64;

constexpr int kFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

std::string text_of(const ListenAddress& address) {
  if (!address.path.empty()) return "unix:" + address.path;
  return address.tcp.host + ":" + std::to_string(address.tcp.port);
}

tl::unexpected<Error> cannot(const ListenAddress& address, const char* purpose, const std::string& why) {
  return fail(ErrorCode::kUnavailable, text_of(address) + " cannot be bound for " + purpose + ": " + why);
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

bool somebody_listens(const sockaddr_un& address) {
  const Descriptor socket(::socket(AF_UNIX, kFlags, 0));
  if (!socket) return true;
  return ::connect(socket.get(), plain(address), sizeof address) == 0 || errno != ECONNREFUSED;
}

// A socket file that nobody listens at any more. Links are not followed.
bool is_stale(const std::string& path, const sockaddr_un& address) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode) && !somebody_listens(address);
}

Result<Descriptor> bind_path(const ListenAddress& where, const char* purpose) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (where.path.size() >= sizeof address.sun_path)
    return cannot(where, purpose,
                  "its path must have less than " + std::to_string(sizeof address.sun_path) + " bytes");
  std::memcpy(address.sun_path, where.path.c_str(), where.path.size() + 1);
  Descriptor socket(::socket(AF_UNIX, kFlags, 0));
  // The mode before the name: there is no moment at which others could open it.
  if (!socket || ::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0)
    return cannot(where, purpose, std::strerror(errno));
  if (::bind(socket.get(), plain(address), sizeof address) == 0) return socket;
  const int error = errno;
  if (error != EADDRINUSE || !is_stale(where.path, address) || ::unlink(where.path.c_str()) != 0 ||
      ::bind(socket.get(), plain(address), sizeof address) != 0) {
    return cannot(where, purpose,
                  error == EADDRINUSE ? "there is something already, that is no socket or that somebody uses"
                                      : std::strerror(error));
  }
  return socket;
}

Result<Descriptor> bind_tcp(const ListenAddress& where, const char* purpose) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = without_brackets(where.tcp.host);
  if (const int failed = getaddrinfo(host.c_str(), std::to_string(where.tcp.port).c_str(), &hints, &found);
      failed != 0)
    return cannot(where, purpose, gai_strerror(failed));
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  Descriptor socket(::socket(found->ai_family, kFlags, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    const int error = errno;
    return cannot(where, purpose,
                  std::string(std::strerror(error)) +
                      (error == EADDRINUSE ? "; is another process listening there?" : ""));
  }
  return socket;
}

std::uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

std::string client_of(int socket, const sockaddr_storage& address, socklen_t size) {
  if (address.ss_family == AF_UNIX) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    const bool known = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
    return known ? "uid " + std::to_string(peer.uid) : "uid unknown";
  }
  std::array<char, NI_MAXHOST> host{};
  const bool known = getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                                 nullptr, 0, NI_NUMERICHOST) == 0;
  return known ? host.data() : "unknown";
}

int accept_from(int listener, sockaddr_storage& address, socklen_t& size) {
  const int socket =
      ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  const int on = 1;
  if (socket >= 0 && address.ss_family != AF_UNIX)
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  return socket;
}

}  // namespace

Result<Listener> Listener::open(const ListenAddress& address, const char* purpose) {
  auto socket = address.path.empty() ? bind_tcp(address, purpose) : bind_path(address, purpose);
  if (!socket) return tl::unexpected(socket.error());
  Listener listener;
  listener.socket_ = std::move(*socket);
  listener.path_ = address.path;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::listen(listener.fd(), kBacklog) != 0 ||
      ::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return cannot(address, purpose, std::strerror(errno));
  listener.port_ = port_of(bound);
  listener.refill();
  return listener;
}

Listener::~Listener() {
  if (socket_ && !path_.empty()) ::unlink(path_.c_str());
}

// The last of the reserve is for sending away: who waits would be reported again and again.
std::optional<Listener::Accepted> Listener::accept() {
  refill();
  for (int tries = 0; tries < kTries; ++tries) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    Descriptor socket(accept_from(fd(), address, size));
    if (socket) {
      std::string client = client_of(socket.get(), address, size);
      return Accepted{std::move(socket), std::move(client)};
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    starved_ = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    if (!starved_ || reserve_.empty()) return std::nullopt;
    const bool last = reserve_.size() == 1;
    reserve_.pop_back();
    if (!last) continue;
    Descriptor(accept_from(fd(), address, size)).reset();
    refill();
  }
  return std::nullopt;
}

void Listener::refill() {
  starved_ = false;
  while (reserve_.size() < kReserve) {
    Descriptor spare(::fcntl(fd(), F_DUPFD_CLOEXEC, 0));
    if (!spare) return;
    reserve_.push_back(std::move(spare));
  }
}

}  // namespace volvox
