#include "loadgen/server/http_get.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace volvox {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kScheme = "http://";
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

struct Url {
  std::string host, port, path;
};

std::optional<Url> parse_url(std::string_view url) {
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  const auto slash = url.find('/');
  Url parsed;
  parsed.path = slash == std::string_view::npos ? "/" : std::string(url.substr(slash));
  std::string_view authority = url.substr(0, slash);
  const auto colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  parsed.port = has_port ? std::string(authority.substr(colon + 1)) : "80";
  if (has_port) authority = authority.substr(0, colon);
  if (authority.starts_with('[') && authority.ends_with(']'))
    authority = authority.substr(1, authority.size() - 2);
  parsed.host = std::string(authority);
  const bool clean = url.find_first_of(" \r\n") == std::string_view::npos;
  if (parsed.host.empty() || parsed.port.empty() || !clean) return std::nullopt;
  return parsed;
}

// A socket and the time until which its owner is patient.
class Connection {
 public:
  explicit Connection(Clock::time_point until) : until_(until) {}
  ~Connection() { reset(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connect_to(const addrinfo& address) {
    reset();
    fd_ =
        ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
    if (fd_ < 0) return false;
    if (::connect(fd_, address.ai_addr, address.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS || !wait_for(POLLOUT)) return false;
    int failure = 0;
    socklen_t size = sizeof failure;
    return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
  }

  bool send_all(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        text.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EAGAIN || !wait_for(POLLOUT)) {
        return false;
      }
    }
    return true;
  }

  // Everything up to the peer's end of stream.
  bool receive_all(std::string& text) {
    std::array<char, 16384> buffer{};
    while (text.size() <= kMaxBytes) {
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got == 0) return true;
      if (got > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
      } else if (errno != EAGAIN || !wait_for(POLLIN)) {
        return false;
      }
    }
    return false;
  }

 private:
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  bool wait_for(short events) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
    if (left <= 0) return false;
    pollfd entry{fd_, events, 0};
    return ::poll(&entry, 1, static_cast<int>(left)) == 1;
  }

  Clock::time_point until_;
  int fd_ = -1;
};

bool connect_any(Connection& connection, const Url& url) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    if (connection.connect_to(*address)) return true;
  }
  return false;
}

Result<HttpResponse> parse_answer(const std::string& text, const std::string& url) {
  const auto header_end = text.find("\r\n\r\n");
  HttpResponse answer;
  const auto space = text.find(' ');
  if (!text.starts_with("HTTP/1.") || header_end == std::string::npos || space > header_end) {
    return fail(ErrorCode::kInternal, "'" + url + "' does not speak HTTP; check the port");
  }
  const char* digits = text.data() + space + 1;
  std::from_chars(digits, text.data() + header_end, answer.status);
  answer.body = text.substr(header_end + 4);
  return answer;
}

}  // namespace

Result<HttpResponse> http_get(const std::string& url, Duration at_most) {
  const auto parsed = parse_url(url);
  if (!parsed)
    return invalid(
        "'" + url +
        "' is not of the form http://host:port/path; give the monitoring's address (server.metrics)");
  Connection connection(Clock::now() + at_most);
  if (!connect_any(connection, *parsed)) {
    return fail(ErrorCode::kUnavailable, "no connection to '" + url + "'; check that the server runs");
  }
  // HTTP/1.0: the answer is neither chunked nor kept alive.
  const std::string request =
      "GET " + parsed->path + " HTTP/1.0\r\nHost: " + parsed->host + "\r\nConnection: close\r\n\r\n";
  std::string text;
  if (!connection.send_all(request) || !connection.receive_all(text)) {
    return fail(ErrorCode::kUnavailable, "no complete answer from '" + url +
                                             "' in time; is it the monitoring's address (server.metrics)?");
  }
  return parse_answer(text, url);
}

std::string http_base(const std::string& url) {
  const auto scheme = url.find("://");
  const bool has_scheme = scheme != std::string::npos && url.find('/') == scheme + 1;
  std::string base = has_scheme ? url : std::string(kScheme) + url;
  const auto slash = base.find('/', base.find("://") + 3);
  if (slash != std::string::npos) base.resize(slash);
  return base;
}

}  // namespace volvox
