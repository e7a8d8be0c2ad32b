#include "loadgen/link/raw_peer.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/addresses.h"
#include "config/validate.h"

namespace volvox {
namespace {

constexpr int kReceiveBuffer = 4096;  // the sooner a server feels that nobody reads
constexpr timeval kHandshake{5, 0};   // how long a server may take to answer the greeting
constexpr std::size_t kGreeting = 64;

void append(std::vector<std::byte>& out, std::string_view text) {
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

void append_number(std::vector<std::byte>& out, std::uint64_t value, int bytes) {
  while (bytes-- > 0) out.push_back(static_cast<std::byte>(value >> (8 * bytes)));
}

void append_frame(std::vector<std::byte>& out, std::span<const std::byte> frame, bool more) {
  constexpr unsigned kMore = 1, kLong = 2;
  out.push_back(static_cast<std::byte>(kLong | (more ? kMore : 0)));
  append_number(out, frame.size(), 8);
  out.insert(out.end(), frame.begin(), frame.end());
}

// ZMTP 3.0: greeting with the NULL mechanism, then the READY command of a DEALER.
std::vector<std::byte> greeting() {
  std::vector<std::byte> out;
  out.push_back(std::byte{0xff});
  append_number(out, 0, 8);
  out.push_back(std::byte{0x7f});
  append_number(out, 0x0300, 2);  // version 3.0
  append(out, "NULL");
  out.resize(kGreeting);  // the rest is zeros
  std::vector<std::byte> ready;
  append_number(ready, 5, 1);
  append(ready, "READY");
  append_number(ready, 11, 1);
  append(ready, "Socket-Type");
  append_number(ready, 6, 4);
  append(ready, "DEALER");
  append_number(out, 4, 1);  // a command
  append_number(out, ready.size(), 1);
  out.insert(out.end(), ready.begin(), ready.end());
  return out;
}

bool read_all(int fd, std::span<std::byte> into) {
  return recv(fd, into.data(), into.size(), MSG_WAITALL) == static_cast<ssize_t>(into.size());
}

// The server's greeting and its READY command. ZMTP allows no message before both sides are ready, and libzmq
// drops a peer that sends one.
bool hear_greeting(int fd) {
  std::array<std::byte, kGreeting> greeting{};
  std::array<std::byte, 2> frame{};  // flags, size
  if (!read_all(fd, greeting) || !read_all(fd, frame) || frame[0] != std::byte{4}) return false;
  std::vector<std::byte> ready(std::to_integer<std::size_t>(frame[1]));
  return read_all(fd, ready);
}

int connect_to(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kHandshake, sizeof kHandshake);
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

RawPeer::RawPeer(RawPeer&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), unsent_(std::move(other.unsent_)) {}

RawPeer& RawPeer::operator=(RawPeer&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(unsent_, other.unsent_);
  return *this;
}

Result<RawPeer> RawPeer::connect(const std::string& endpoint) {
  constexpr std::string_view kScheme = "tcp://";
  if (!endpoint.starts_with(kScheme)) return invalid("misbehaving connections need a tcp:// endpoint");
  const auto where = parse_host_port(std::string_view(endpoint).substr(kScheme.size()));
  if (!where) return tl::unexpected(where.error());
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int fd = -1;
  const std::string host = without_brackets(where->host);
  if (getaddrinfo(host.c_str(), std::to_string(where->port).c_str(), &hints, &found) == 0) {
    for (const addrinfo* address = found; fd < 0 && address != nullptr; address = address->ai_next)
      fd = connect_to(*address);
    freeaddrinfo(found);
  }
  if (fd < 0) return fail(ErrorCode::kUnavailable, "no connection to '" + endpoint + "'");
  RawPeer peer(fd);
  peer.unsent_ = greeting();
  if (!peer.flush() || !hear_greeting(fd))
    return fail(ErrorCode::kUnavailable, "'" + endpoint + "' takes no ZeroMQ client without a key");
  return peer;
}

bool RawPeer::send(std::span<const std::byte> header, std::span<const std::byte> body) {
  if (!flush()) return false;
  append_frame(unsent_, header, true);
  append_frame(unsent_, body, false);
  flush();
  return true;
}

// True when nothing is left.
bool RawPeer::flush() {
  while (fd_ >= 0 && !unsent_.empty()) {
    const ssize_t sent = ::send(fd_, unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return false;
    unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
  }
  return fd_ >= 0;
}

void RawPeer::vanish() {
  if (fd_ < 0) return;
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(std::exchange(fd_, -1));
  unsent_.clear();
}

}  // namespace volvox
