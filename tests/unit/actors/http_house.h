#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/actors/house.h"
#include "tests/unit/sockets.h"

namespace volvox {

inline const std::vector<std::int32_t> kTokens{12, 7, 301};
inline const std::string kBody =
    R"({"inputs":[{"name":"tokens","datatype":"INT32","shape":[3],"data":[12,7,301]}]})";

inline ServeConfig with_http() {
  ServeConfig config = loopback();
  config.http.listen = "127.0.0.1:0";
  return config;
}

using test::dial;

// One connection to a server's HTTP port.
class Connection {
 public:
  explicit Connection(const House& house) : Connection(dial(house.server->http_port())) {}
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // False when the server has closed.
  bool send(std::string_view bytes) const {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  void post(const std::string& path, const std::string& body, const std::string& headers = "") const {
    send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + headers + "\r\n" + body);
  }
  // The same, and nothing more, in one segment: whoever has read it knows that the client is gone.
  void post_and_finish(const std::string& path, const std::string& body) const {
    const int on = 1;
    EXPECT_EQ(setsockopt(fd_, IPPROTO_TCP, TCP_CORK, &on, sizeof on), 0);
    post(path, body);
    finish();
  }
  // Nothing more is sent.
  void finish() const { shutdown(fd_, SHUT_WR); }
  // All that comes until the server closes.
  std::string read_all() const {
    std::string answer;
    char buffer[4096];
    for (ssize_t n = 0; (n = recv(fd_, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(n));
    return answer;
  }

 private:
  int fd_;
};

inline std::string post(const House& house, const std::string& body, const std::string& headers = "",
                        const std::string& path = "/v2/models/check/infer") {
  const Connection connection(house);
  connection.post(path, body, headers);
  return connection.read_all();
}

inline std::string get(const House& house, const std::string& path, const std::string& method = "GET") {
  const Connection connection(house);
  connection.send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return connection.read_all();
}

inline nlohmann::json content_of(const std::string& answer) {
  const std::size_t head = answer.find("\r\n\r\n");
  return head == std::string::npos ? nlohmann::json()
                                   : nlohmann::json::parse(answer.substr(head + 4), nullptr, false);
}

// The answer is the error with this status, and says so as the protocol wants it.
inline void expect_error(const std::string& answer, int status, const char* code, const char* says) {
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 " + std::to_string(status) + " "));
  EXPECT_THAT(answer, testing::HasSubstr(std::string("\r\nVolvox-Error: ") + code + "\r\n"));
  const nlohmann::json content = content_of(answer);
  ASSERT_TRUE(content.is_object() && content["error"].is_string()) << answer;
  EXPECT_THAT(content["error"].get<std::string>(), testing::HasSubstr(says));
}

// Until a line of the metrics page is this one.
inline void wait_for_metric(const House& house, const std::string& line) {
  const std::size_t value = line.rfind(' ') + 1;
  wait_for_metric(house, line.substr(0, value - 1), std::stod(line.substr(value)));
}

}  // namespace volvox
