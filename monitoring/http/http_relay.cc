#include "monitoring/http/http_relay.h"

#include <array>
#include <cerrno>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace volvox {
namespace {

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// The other end takes a descriptor, too, and cannot say so when there is none.
bool one_more_is_left(int fd) {
  return static_cast<bool>(Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 0)));
}

}  // namespace

bool OneWay::read(int from) {
  std::array<char, 16'384> piece{};
  while (wants_to_read()) {
    const ssize_t got = ::recv(from, piece.data(), piece.size(), 0);
    if (got < 0) return would_block();
    if (got == 0) ended_ = true;
    bytes_.append(piece.data(), static_cast<std::size_t>(got));
  }
  return true;
}

bool OneWay::write(int to) {
  while (written_ < bytes_.size()) {
    const ssize_t sent = ::send(to, bytes_.data() + written_, bytes_.size() - written_, MSG_NOSIGNAL);
    if (sent < 0 && would_block()) return true;
    if (sent <= 0) return false;
    moved_ = true;
    written_ += static_cast<std::size_t>(sent);
  }
  bytes_.clear();
  written_ = 0;
  if (ended_ && !std::exchange(told_, true)) static_cast<void>(::shutdown(to, SHUT_WR));
  return true;
}

void OneWay::give_up() {
  bytes_.clear();
  written_ = 0;
  ended_ = told_ = true;
}

// The port is left to connect(): bind() gives none away again for a minute after its connection has ended.
tl::expected<HttpRelay, int> HttpRelay::to(std::uint16_t port, std::string first, TimePoint now) {
  Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!server || !one_more_is_left(server.get())) return tl::unexpected(errno);
  const int on = 1;
  static_cast<void>(::setsockopt(server.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (::connect(server.get(), name, size) != 0 && errno != EINPROGRESS) return tl::unexpected(errno);
  if (::getsockname(server.get(), name, &size) != 0) return tl::unexpected(errno);
  return HttpRelay(std::move(server), ntohs(address.sin_port), std::move(first), now);
}

short HttpRelay::client_events() const {
  return static_cast<short>((up_.wants_to_read() ? POLLIN : 0) | (down_.wants_to_write() ? POLLOUT : 0));
}

short HttpRelay::server_events() const {
  return static_cast<short>((down_.wants_to_read() ? POLLIN : 0) | (up_.wants_to_write() ? POLLOUT : 0));
}

// The server may answer before it has read everything, and close: what it said still goes out.
bool HttpRelay::move(int client, short client_events, short server_events, TimePoint now) {
  constexpr short kRead = POLLIN | POLLHUP | POLLERR;
  if ((client_events & kRead) != 0 && !up_.read(client)) return false;
  if (!up_.write(fd())) up_.give_up();
  if ((server_events & kRead) != 0 && !down_.read(fd())) down_.end();
  if (!down_.write(client)) return false;
  if (down_.moved() || !down_.wants_to_write()) moved_ = now;
  return !down_.over();
}

std::optional<TimePoint> HttpRelay::blocked_since() const {
  if (!down_.wants_to_write()) return std::nullopt;
  return moved_;
}

}  // namespace volvox
