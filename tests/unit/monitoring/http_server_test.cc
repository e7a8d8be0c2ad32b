#include "monitoring/http_server.h"

#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace volvox {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Sends the bytes to a port on loopback and reads until the server closes.
std::string talk(std::uint16_t port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(n));
  }
  close(fd);
  return answer;
}

std::string ask(std::uint16_t port, const std::string& method, const std::string& path) {
  return talk(port, method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

std::unique_ptr<HttpServer> start_server() {
  HttpServer::Pages pages;
  pages["/a"] = [] { return HttpAnswer{200, "alpha\n"}; };
  pages["/no"] = [] { return HttpAnswer{503, "not now\n"}; };
  pages["/throws"] = []() -> HttpAnswer { throw std::runtime_error("broken"); };
  auto server = HttpServer::start({"127.0.0.1", 0}, std::move(pages));
  EXPECT_TRUE(server) << server.error().message;
  return server ? std::move(*server) : nullptr;
}

TEST(HttpServer, AnswersItsPages) {
  const auto server = start_server();
  ASSERT_NE(server, nullptr);
  ASSERT_NE(server->port(), 0);
  EXPECT_THAT(ask(server->port(), "GET", "/a"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(ask(server->port(), "GET", "/a"), EndsWith("\r\n\r\nalpha\n"));
  EXPECT_THAT(ask(server->port(), "GET", "/a?x=1"), EndsWith("\r\n\r\nalpha\n"));
  EXPECT_THAT(ask(server->port(), "HEAD", "/a"), HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(ask(server->port(), "HEAD", "/a"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(ask(server->port(), "GET", "/no"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
}

TEST(HttpServer, RefusesEverythingElse) {
  const auto server = start_server();
  ASSERT_NE(server, nullptr);
  for (const char* path : {"/", "/a/b", "/ab", "/../etc/passwd", "/%2e%2e/"}) {
    EXPECT_THAT(ask(server->port(), "GET", path), StartsWith("HTTP/1.1 404 ")) << path;
  }
  EXPECT_THAT(ask(server->port(), "POST", "/a"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(server->port(), "DELETE", "/a"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(server->port(), "GET", "/throws"), StartsWith("HTTP/1.1 500 "));
  talk(server->port(), "\x16\x03\x01 not http\r\n\r\n");
  EXPECT_THAT(ask(server->port(), "GET", "/a"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, ATakenPortIsAClearError) {
  const auto server = start_server();
  ASSERT_NE(server, nullptr);
  const auto second = HttpServer::start({"127.0.0.1", server->port()}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be bound"));
}

}  // namespace
}  // namespace volvox
