#include <array>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/edge/reply_waiter.h"
#include "actors/http/http_watch.h"
#include "actors/http/peer_socket.h"
#include "actors/node/model_statistics.h"
#include "actors/work/work.h"
#include "base/clock.h"
#include "tests/unit/actors/patience.h"

namespace volvox {
namespace {

// Two ends of a connection on loopback.
class SocketPair {
 public:
  SocketPair() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener, name, size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, name, &size), 0);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(client, name, size), 0);
    server = accept(listener, nullptr, nullptr);
    EXPECT_GE(server, 0);
    peer.host = "127.0.0.1";
    peer.local_port = ntohs(address.sin_port);
    EXPECT_EQ(getsockname(client, name, &size), 0);
    peer.port = ntohs(address.sin_port);
    close(listener);
  }
  ~SocketPair() {
    hang_up();
    close(server);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  void hang_up() {
    if (client >= 0) close(client);
    client = -1;
  }

  int client = -1, server = -1;
  PeerAddress peer;  // as the server sees it
};

TEST(PeerSocket, FindsTheServersEndOfAConnection) {
  const SocketPair first, second;
  SocketFinder finder;
  EXPECT_EQ(finder.find(first.peer), first.server);
  EXPECT_EQ(finder.find(second.peer), second.server);
  EXPECT_EQ(finder.find(first.peer), first.server) << "found before";
  PeerAddress nobody = first.peer;
  nobody.host = "127.0.0.2";
  EXPECT_EQ(finder.find(nobody), -1);
  nobody = first.peer;
  nobody.local_port = 1;
  EXPECT_EQ(finder.find(nobody), -1);
}

TEST(PeerSocket, SeesAClientHangUp) {
  SocketPair connection;
  EXPECT_FALSE(has_hung_up(connection.server));
  ASSERT_EQ(send(connection.client, "x", 1, 0), 1);
  EXPECT_FALSE(has_hung_up(connection.server));
  connection.hang_up();
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (!has_hung_up(connection.server)) ASSERT_LT(std::chrono::steady_clock::now(), until);
}

TEST(HttpWatch, CutsWhatTakesTooLong) {
  prometheus::Registry registry;
  HttpMetrics metrics(registry);
  HttpWatch watch(metrics);
  const SocketPair slow, quick;
  {
    HttpWatch::Guard slow_guard(watch, slow.peer);
    const HttpWatch::Guard quick_guard(watch, quick.peer);
    slow_guard.limit_reading(steady_now());
    std::array<char, 1> byte{};
    EXPECT_EQ(recv(slow.client, byte.data(), 1, 0), 0);  // once it is cut
    ASSERT_EQ(send(quick.server, "x", 1, 0), 1);
    EXPECT_EQ(recv(quick.client, byte.data(), 1, 0), 1);
    EXPECT_FALSE(watch.wait_until_idle(Duration::zero()));
    watch.cut_all();
    EXPECT_EQ(recv(quick.client, byte.data(), 1, 0), 0);
  }
  EXPECT_TRUE(watch.wait_until_idle(Duration::zero()));
}

TEST(HttpWatch, OneThatSendsTooLongCanStillBeAnswered) {
  prometheus::Registry registry;
  HttpMetrics metrics(registry);
  HttpWatch watch(metrics);
  const SocketPair slow;
  HttpWatch::Guard guard(watch, slow.peer);
  guard.limit_sending(steady_now());
  std::array<char, 1> byte{};
  EXPECT_EQ(recv(slow.server, byte.data(), 1, 0), 0);  // once nothing more is read
  guard.lift();
  ASSERT_EQ(send(slow.server, "x", 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(recv(slow.client, byte.data(), 1, 0), 1);
}

TEST(ReplyWaiter, GivesTheAnswerOnce) {
  ReplyWaiter waiter;
  EXPECT_FALSE(waiter.wait_for(Duration::zero()));
  std::thread answers([&] {
    Outcome outcome;
    outcome.cells = 7;
    waiter.answer(IncomingRequest{}, outcome);
  });
  const auto outcome = waiter.wait_for(kLongEnough);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->cells, 7U);
  EXPECT_FALSE(waiter.wait_for(Duration::zero()));
  answers.join();
}

struct CameBy : IncomingRequest {
  explicit CameBy(Door by) { door = by; }
};

Outcome success(std::uint64_t queue_us, std::uint64_t compute_us) {
  Outcome outcome;
  outcome.queue_us = queue_us;
  outcome.compute_us = compute_us;
  return outcome;
}

Outcome failure(ErrorCode code) {
  Outcome outcome;
  outcome.error = Error{code, "as told"};
  return outcome;
}

TEST(ModelStatistics, Adds) {
  ModelStatistics statistics;
  EXPECT_EQ(statistics.sums().last_ms, 0U);
  statistics.ended(CameBy(Door::kClients), success(1, 2), 4);
  statistics.ended(CameBy(Door::kHttp), success(10, 20), 40);
  statistics.ended(CameBy(Door::kHttp), failure(ErrorCode::kInternal), 100);
  const ModelStatistics::Sums sums = statistics.sums();
  EXPECT_EQ(sums.successes, 2U);
  EXPECT_EQ(sums.failures, 1U);
  EXPECT_EQ(sums.queue_us, 11U);
  EXPECT_EQ(sums.compute_us, 22U);
  EXPECT_EQ(sums.success_us, 44U);
  EXPECT_EQ(sums.failure_us, 100U);
  EXPECT_GT(sums.last_ms, 1'600'000'000'000U);
  statistics.reset();
  EXPECT_EQ(statistics.sums().successes + statistics.sums().failures + statistics.sums().success_us, 0U);
}

TEST(ModelStatistics, TellsDoorsApart) {
  ModelStatistics statistics;
  statistics.ended(CameBy(Door::kClients), success(30, 31), 70'000'000);
  statistics.ended(CameBy(Door::kHttp), failure(ErrorCode::kCancelled), 100);
  const ModelRequests requests = statistics.requests("lstm/1");
  EXPECT_EQ(requests.model, "lstm/1");
  const auto& clients = requests.by(Door::kClients);
  EXPECT_EQ(clients.outcomes[0], 1U);
  EXPECT_EQ(clients.queue.counts[0], 1U) << "a bucket's end belongs to it";
  EXPECT_EQ(clients.compute.counts[1], 1U);
  EXPECT_EQ(clients.total.counts[kDurationBuckets - 1], 1U) << "longer than all ends";
  EXPECT_EQ(clients.total.sum_us, 70'000'000U);
  const auto& http = requests.by(Door::kHttp);
  EXPECT_EQ(http.outcomes[outcome_of(ErrorCode::kCancelled)], 1U);
  EXPECT_EQ(http.outcomes[0] + http.total.sum_us, 0U);
  EXPECT_EQ(requests.by(Door::kCluster).outcomes[0], 0U);
}

TEST(ModelStatistics, CountsWhatTheClientWasTold) {
  ModelStatistics statistics;
  const CameBy request(Door::kClients);
  ASSERT_TRUE(request.end.give_up(ErrorCode::kCancelled));
  statistics.ended(request, success(1, 2), 3);
  EXPECT_EQ(statistics.sums().successes, 0U);
  const ModelRequests requests = statistics.requests("lstm/1");
  EXPECT_EQ(requests.by(Door::kClients).outcomes[outcome_of(ErrorCode::kCancelled)], 1U);
}

}  // namespace
}  // namespace volvox
