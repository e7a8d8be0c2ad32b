#include "monitoring/http/http_server.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/sockets.h"

namespace volvox {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string read_to_end(int fd) {
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(n));
  close(fd);
  return answer;
}

// Sends the bytes to a port on loopback and reads until the server closes.
std::string talk(std::uint16_t port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size()))
    return read_to_end(fd);
  close(fd);
  return {};
}

std::string ask(std::uint16_t port, const std::string& method, const std::string& path) {
  return talk(port, method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

HttpServer::Setup at(std::uint16_t port) {
  HttpServer::Setup setup;
  setup.address.tcp = {"127.0.0.1", port};
  setup.rules.listen_host = "127.0.0.1";
  return setup;
}

std::unique_ptr<HttpServer> start_server() {
  HttpServer::Pages pages;
  pages["/a"] = {[] { return HttpAnswer{200, "alpha\n"}; }};
  pages["/no"] = {[] { return HttpAnswer{503, "not now\n"}; }};
  pages["/throws"] = {[]() -> HttpAnswer { throw std::runtime_error("broken"); }};
  auto server = HttpServer::start(at(0), std::move(pages));
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
  const auto second = HttpServer::start(at(server->port()), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be bound"));
}

int open_to(std::uint16_t port, const std::string& bytes) {
  const int fd = test::dial(port);
  send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return fd;
}

// Orchestrators give a probe a second.
void expect_answers_at_once(std::uint16_t port) {
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(ask(port, "GET", "/a"), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  }
}

TEST(HttpServer, StrangersDelayNoProbe) {
  const auto server = start_server();
  ASSERT_NE(server, nullptr);
  std::vector<int> strangers;
  for (const char* bytes :
       {"", "G", "GET /a HTTP/1.1\r\nHost: localhost\r\n", "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"}) {
    for (int i = 0; i < 40; ++i) strangers.push_back(open_to(server->port(), bytes));
    expect_answers_at_once(server->port());
  }
  for (const int fd : strangers) close(fd);
}

TEST(HttpServer, AConnectionThatAsksNothingEnds) {
  const auto server = start_server();
  const int fd = open_to(server->port(), "GET /a HTTP/1.1\r\n");
  char byte = 0;
  EXPECT_EQ(recv(fd, &byte, 1, 0), 0);  // after five seconds
  close(fd);
}

TEST(HttpServer, ASlowPageHoldsUpNoOtherAndIsMadeOnceForMany) {
  std::promise<void> let_go;
  const auto gate = let_go.get_future().share();
  std::atomic<int> made{0};
  HttpServer::Pages pages;
  pages["/slow"] = {[&] {
    ++made;
    gate.wait();
    return HttpAnswer{200, "slow\n"};
  }};
  pages["/a"] = {[] { return HttpAnswer{200, "alpha\n"}; }};
  const auto server = HttpServer::start(at(0), std::move(pages));
  ASSERT_TRUE(server);
  std::vector<int> askers;
  for (int i = 0; i < 20; ++i)
    askers.push_back(open_to((*server)->port(), "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  while (made == 0) std::this_thread::yield();
  expect_answers_at_once((*server)->port());  // and is asked after all of them: the door has taken them in
  EXPECT_EQ(made, 1);
  let_go.set_value();
  for (const int asker : askers) EXPECT_THAT(read_to_end(asker), EndsWith("slow\n"));
  EXPECT_LE(made, 2) << "for those who came before it was begun, and for all others";
}

TEST(HttpServer, AsksWhoComesIn) {
  HttpServer::Setup setup = at(0);
  setup.rules.tokens = {"0123456789abcdef"};
  setup.rules.setting = "server.metrics_";
  std::atomic<int> turned_away{0};
  setup.turned_away = [&](HttpRefusal) { ++turned_away; };
  HttpServer::Pages pages;
  pages["/secret"] = {[] { return HttpAnswer{200, "secret\n"}; }};
  pages["/probe"] = {[] { return HttpAnswer{200, "ok\n"}; }, true};
  const auto server = HttpServer::start(std::move(setup), std::move(pages));
  ASSERT_TRUE(server);
  const std::uint16_t port = (*server)->port();
  EXPECT_THAT(ask(port, "GET", "/probe"), StartsWith("HTTP/1.1 200 "));
  const std::string refused = ask(port, "GET", "/secret");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  const std::string head = "GET /secret HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef\r\nHost: ";
  EXPECT_THAT(talk(port, head + "localhost\r\n\r\n"), EndsWith("secret\n"));
  EXPECT_THAT(talk(port, head + "evil.example\r\n\r\n"), HasSubstr("server.metrics_hosts"));
  EXPECT_THAT(talk(port, head + "localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(turned_away, 3);
}

TEST(HttpServer, LongHeadersAreRefused) {
  const auto server = start_server();
  EXPECT_THAT(talk(server->port(), "GET /a HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
}

// At the limit of descriptors the loop must neither spin nor leave probes without an answer.
TEST(HttpServer, AnswersProbesWithoutDescriptors) {
  const auto server = start_server();
  ASSERT_NE(server, nullptr);
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> taken;
  for (int fd = 0; (fd = dup(0)) >= 0;) {
    taken.push_back(fd);
    if (taken.size() == 1) {
      rlimit few{};
      getrlimit(RLIMIT_NOFILE, &few);
      few.rlim_cur = static_cast<rlim_t>(fd) + 8;
      setrlimit(RLIMIT_NOFILE, &few);
    }
  }
  EXPECT_EQ(errno, EMFILE);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string question = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";
  send(client, question.data(), question.size(), MSG_NOSIGNAL);
  const auto before = std::clock();
  char answer[9] = {};
  EXPECT_EQ(recv(client, answer, 8, MSG_WAITALL), 8);
  EXPECT_STREQ(answer, "HTTP/1.1");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // of idling, which is what is measured
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 5);
  for (const int fd : taken) close(fd);
  rlimit all{};
  getrlimit(RLIMIT_NOFILE, &all);
  all.rlim_cur = all.rlim_max;
  setrlimit(RLIMIT_NOFILE, &all);
  close(client);
}

class PathTest : public testing::Test {
 protected:
  PathTest() : folder_(std::filesystem::path(testing::TempDir()) / "volvox-http-paths") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PathTest() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<HttpServer>> start() const {
    HttpServer::Setup setup;
    setup.address.path = path();
    HttpServer::Pages pages;
    pages["/a"] = {[] { return HttpAnswer{200, "alpha\n"}; }};
    return HttpServer::start(std::move(setup), std::move(pages));
  }
  std::string path() const { return (folder_ / "socket").string(); }

  std::filesystem::path folder_;
};

TEST_F(PathTest, OnlyItsOwnerOpensIt) {
  const auto server = start();
  ASSERT_TRUE(server) << server.error().message;
  struct stat there {};
  ASSERT_EQ(lstat(path().c_str(), &there), 0);
  EXPECT_TRUE(S_ISSOCK(there.st_mode));
  EXPECT_EQ(there.st_mode & 0777U, 0600U);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path().copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string question = "GET /a HTTP/1.1\r\nHost: whatever\r\n\r\n";
  send(fd, question.data(), question.size(), MSG_NOSIGNAL);
  char answer[16] = {};
  EXPECT_EQ(recv(fd, answer, 15, MSG_WAITALL), 15);
  EXPECT_STREQ(answer, "HTTP/1.1 200 OK");
  close(fd);
}

TEST_F(PathTest, OneLeftBehindIsReplacedAndOneInUseIsNot) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path().copy(address.sun_path, sizeof address.sun_path - 1);
  const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(dead);
  auto first = start();
  ASSERT_TRUE(first) << first.error().message;
  const auto second = start();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be bound"));
  first->reset();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(PathTest, NothingElseIsReplaced) {
  const auto precious = folder_ / "precious";
  std::ofstream(precious) << "x";
  std::ofstream(path()) << "x";
  EXPECT_FALSE(start());
  EXPECT_TRUE(std::filesystem::is_regular_file(path()));
  std::filesystem::remove(path());
  std::filesystem::create_symlink(precious, path());
  EXPECT_FALSE(start());
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
  EXPECT_TRUE(std::filesystem::is_regular_file(precious));
}

}  // namespace
}  // namespace volvox
