// What many connections, or slow ones, can take from others at the HTTP door.

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <sys/un.h>

#include "tests/unit/actors/http_house.h"

namespace volvox {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::StartsWith;

// What strangers must not make others wait, on a machine that does much else.
constexpr std::chrono::seconds kSoon{4};

const std::string kHead = "POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\n";

using Connections = std::vector<std::unique_ptr<Connection>>;

Connections open(const House& house, int count, const std::string& bytes) {
  Connections connections;
  for (int i = 0; i < count; ++i) {
    connections.push_back(std::make_unique<Connection>(house));
    connections.back()->send(bytes);
  }
  return connections;
}

void expect_served_soon(const House& house) {
  const auto start = steady_clock::now();
  EXPECT_THAT(get(house, "/v2/health/ready"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
  EXPECT_LT(steady_clock::now() - start, kSoon);
}

// civetweb gives each a thread until its header is there, or io_timeout_ms is over.
TEST(HttpStrangers, HalfRequestsHoldNoThread) {
  const House house(with_http());
  Connections halves = open(house, 60, kHead), silent = open(house, 60, "");
  wait_for_metric(house, "volvox_http_connections 120");
  expect_served_soon(house);
  halves.clear();
  wait_for_metric(house, "volvox_http_connections 60");
}

TEST(HttpStrangers, AFullDoorSendsAwayWhoHasNotAsked) {
  ServeConfig config = with_http();
  config.http.max_connections = 16;
  const House house(config);
  const Connections halves = open(house, 64, kHead);
  expect_served_soon(house);
  EXPECT_EQ(halves.front()->read_all(), "") << "the first gave way";
  const std::string page = house.monitor.metrics_page().body;
  EXPECT_THAT(page, testing::Not(HasSubstr("\nvolvox_http_connections_cut_total 0\n")));
}

TEST(HttpStrangers, AHalfRequestDoesNotStayForEver) {
  ServeConfig config = with_http();
  config.http.io_timeout_ms = 50;
  const House house(config);
  EXPECT_EQ(open(house, 1, kHead).front()->read_all(), "");
  wait_for_metric(house, "volvox_http_connections_cut_total 1");
}

TEST(HttpStrangers, SlowContentsLeaveThreadsToQuestions) {
  ServeConfig config = with_http();
  config.http.max_requests = 2;
  const House house(config);
  const Connections slow = open(house, 40, kHead + "Content-Length: 1000000\r\n\r\n ");
  wait_for_metric(house, "volvox_http_requests_in_progress 2");
  const auto start = steady_clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(get(house, "/v2/health/ready"), StartsWith("HTTP/1.1 200"));
  EXPECT_LT(steady_clock::now() - start, kSoon);
}

// A thread, and a place of http.max_requests, are not had for a byte now and then.
TEST(HttpStrangers, AClientMustSendAtALeastRate) {
  ServeConfig config = with_http();
  config.http.io_timeout_ms = 600'000;
  config.http.max_requests = 1;
  config.http.min_bytes_per_second = 1 << 20;
  const House house(config);
  const Connection drip(house);
  drip.send(kHead + "Content-Length: 100000000\r\n\r\n");
  const auto until = steady_clock::now() + kLongEnough;
  while (drip.send(" ")) {
    ASSERT_LT(steady_clock::now(), until) << "it may go on for ever";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(HttpStrangers, OneClientsConnectionsAreBounded) {
  ServeConfig config = with_http();
  config.http.max_connections_per_client = 2;
  const auto device = held_device();
  const House house(config, device);
  const Connection first(house), second(house);
  first.post("/v2/models/check/infer", kBody);
  second.post("/v2/models/check/infer", kBody);
  house.wait_for_live(2);
  EXPECT_EQ(post(house, kBody), "");
  wait_for_metric(house, "volvox_http_connections_refused_total 1");
  const LetRun run(device);
  EXPECT_THAT(first.read_all(), StartsWith("HTTP/1.1 200"));
}

TEST(HttpStrangers, AClientHasItsOwnShareOfTheRequests) {
  ServeConfig config = with_http();
  config.limits.max_requests_per_client = 1;
  const auto device = held_device();
  const House house(config, device);
  const Connection first(house);
  first.post("/v2/models/check/infer", kBody);
  house.wait_for_live(1);
  expect_error(post(house, kBody), 429, "OVERLOADED", "limits.max_requests_per_client");
  const LetRun run(device);
  EXPECT_THAT(first.read_all(), StartsWith("HTTP/1.1 200"));
}

// Only the door may pass connections on to where the threads are: whose they are is known there.
TEST(HttpStrangers, TheThreadsListenToTheDoorOnly) {
  const House house(with_http());
  std::set<std::uint16_t> ports;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_in address{};
    socklen_t bytes = sizeof address;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 && address.sin_family == AF_INET)
      ports.insert(ntohs(address.sin_port));
  }
  int served = 0;
  for (const std::uint16_t port : ports) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const std::string ask = "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char byte = 0;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        send(fd, ask.data(), ask.size(), MSG_NOSIGNAL) > 0 && recv(fd, &byte, 1, 0) == 1 && byte == 'H')
      ++served;
    close(fd);
  }
  EXPECT_GE(ports.size(), 3U) << "the door, the threads, and ZeroMQ";
  EXPECT_EQ(served, 1);
}

TEST(HttpStrangers, ASocketOfTheFileSystem) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "http").string();
  ServeConfig config = with_http();
  config.http.listen = "unix:" + path;
  const House house(config);
  EXPECT_EQ(house.server->http_port(), 0);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const Connection connection(fd);
  connection.post("/v2/models/check/infer", kBody);
  EXPECT_THAT(connection.read_all(), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace volvox
