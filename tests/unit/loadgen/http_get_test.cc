#include "loadgen/server/http_get.h"

#include <array>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Listens on a loopback port of its own; says `answer` to the first caller, then hangs up, or holds the line.
class OneShotServer {
 public:
  OneShotServer(std::string answer, bool hangs_up) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, answer = std::move(answer), hangs_up] { serve(answer, hangs_up); });
  }
  ~OneShotServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  const std::string& request() const { return request_; }

 private:
  void serve(const std::string& answer, bool hangs_up) {
    const int peer = ::accept(listener_, nullptr, nullptr);
    if (peer < 0) return;
    std::array<char, 1024> buffer{};
    const ssize_t got = ::recv(peer, buffer.data(), buffer.size(), 0);
    if (got > 0) request_.assign(buffer.data(), static_cast<std::size_t>(got));
    ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
    if (!hangs_up) ::recv(peer, buffer.data(), buffer.size(), 0);  // until the caller gives up
    ::close(peer);
  }

  int listener_ = -1;
  int port_ = 0;
  std::string request_;
  std::jthread thread_;
};

TEST(HttpGet, FetchesStatusAndBody) {
  OneShotServer server("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\nnot ready", true);
  const auto answer = http_get(server.url("/readyz"), seconds(5));
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "not ready");
  EXPECT_EQ(server.request().substr(0, 21), "GET /readyz HTTP/1.0\r");
}

TEST(HttpGet, FetchesALongBody) {
  const std::string body(300000, 'x');
  OneShotServer server("HTTP/1.1 200 OK\r\n\r\n" + body, true);
  const auto answer = http_get(server.url(""), seconds(5));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, body);
}

TEST(HttpGet, GivesUpOnASilentServer) {
  OneShotServer server("", false);
  const auto answer = http_get(server.url("/"), milliseconds(50));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

TEST(HttpGet, RefusesWhatIsNotHttp) {
  OneShotServer server("220 mail.example ESMTP\r\n\r\n", true);
  const auto answer = http_get(server.url("/"), seconds(5));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kInternal);
}

TEST(HttpGet, RefusesOtherUrls) {
  for (const char* url : {"", "ftp://host/", "http://", "http://:80/", "http://host:/", "http://ho st/",
                          "http://host/a\r\nEvil: 1"}) {
    const auto answer = http_get(url, seconds(1));
    ASSERT_FALSE(answer.has_value()) << url;
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument) << url;
  }
}

TEST(HttpGet, BaseOfAUrl) {
  EXPECT_EQ(http_base("http://localhost:9100/metrics"), "http://localhost:9100");
  EXPECT_EQ(http_base("http://localhost:9100/"), "http://localhost:9100");
  EXPECT_EQ(http_base("localhost:9100"), "http://localhost:9100");
  EXPECT_EQ(http_base("tcp://localhost:7100/x"), "tcp://localhost:7100");
}

}  // namespace
}  // namespace volvox
