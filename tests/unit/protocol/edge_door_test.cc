// What strangers can make an edge keep, and that nobody can be another.

#include <ctime>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/protocol/edge_peers.h"
#include "tests/unit/sockets.h"

// In place of the C library's, for ZeroMQ too: what must not be guessed must not come from here.
extern "C" int rand() noexcept {
  return 0x6b8b4567;
}

namespace volvox {
namespace {

// By its bytes, not by its patience: what it does not read lies in ZeroMQ, and counts there too.
TEST_F(EdgeSocketTest, NeverWaitsForASlowClient) {
  EdgeOptions options;
  options.slow_client_bytes = 8 << 20;
  options.slow_client_patience = 1h;
  options.linger = 0ms;
  open(options);
  RawClient slow(edge_->endpoint(), 1), quick(edge_->endpoint());
  slow.send({"slow", ""});
  quick.send({"quick", ""});
  run_until([&] { return recorder_.requests.size() == 2; });
  const bool slow_first = recorder_.requests[0].header == "slow";
  const ClientId slow_id = recorder_.requests[slow_first ? 0 : 1].client;
  const ClientId quick_id = recorder_.requests[slow_first ? 1 : 0].client;
  // The slow one never reads: kernel buffers fill first, then its queue in ZeroMQ.
  const std::string large(1 << 20, 'x');
  std::size_t most = 0;
  run_until([&] {
    edge_->post({slow_id, buffer("h"), buffer(large)});
    edge_->run_once(0ms);
    most = std::max(most, edge_->waiting_bytes());
    return !recorder_.gone.empty();
  });
  EXPECT_GT(most, options.slow_client_bytes / 2);
  EXPECT_LE(most, options.slow_client_bytes + large.size() + 4096) << "besides the largest";
  run_until([&] { return edge_->door().connections == 1; });  // it is closed, with what lay in ZeroMQ
  EXPECT_EQ(edge_->waiting_bytes(), 0U);
  EXPECT_EQ(recorder_.gone[0], (std::pair{slow_id, ClientGone::kTooSlow}));
  EXPECT_GE(edge_->stats().dropped_slow, recorder_.gone.size());
  edge_->post({quick_id, buffer("still served"), {}});
  run_until([&] { return edge_->unsent() == 0; });
  EXPECT_EQ(quick.receive().at(0), "still served");
}

TEST_F(EdgeSocketTest, ClosesAConnectionThatSendsTooMuch) {
  EdgeOptions options;
  options.limits.max_body_bytes = 8192;
  open(options);
  BarePeer rude(edge_->endpoint());
  RawClient polite(edge_->endpoint());
  rude.shake_hands_as("");
  rude.send(std::string("\x01\x01h\x02\0\0\0\0\0\0\x20\x01", 12));  // announces 8193 bytes
  polite.send({"h", std::string(8192, 'x')});
  run_until([&] { return !recorder_.requests.empty() && rude.closed(); });
  ASSERT_EQ(recorder_.requests.size(), 1U);
  EXPECT_EQ(recorder_.requests[0].body.size(), 8192U);
}

// A peer of bare bytes: many requests, a ping, and a reset, while the edge is busy elsewhere. Debian's libzmq
// 4.3.4 ends the process here.
TEST_F(EdgeSocketTest, SurvivesAFloodThatEndsInAReset) {
  EdgeOptions options;
  options.requests_per_client = 100;
  open(options);
  BarePeer peer(edge_->endpoint());
  peer.shake_hands();
  const std::string request("\x01\x01h\0\1b", 6);  // two frames of one byte each
  std::string flood;
  for (int i = 0; i < 1300; ++i) flood += request;
  peer.send(flood + std::string("\x04\x07\x04PING\0\0", 9));
  // ZeroMQ's thread has filled the queue; the rest, and the ping, wait in its hands.
  wait_until([&] { return edge_->door().unread_bytes >= 100 * (2 + 2 * sizeof(zmq_msg_t)); });
  peer.reset();
  // It takes events in their order: once it has shaken hands with this one, it knows of the reset.
  BarePeer later(edge_->endpoint());
  later.shake_hands_as("");
  later.request("still", "served");
  run_until([&] { return !recorder_.requests.empty() && recorder_.requests.back().header == "still"; });
  EXPECT_GE(recorder_.requests.size(), 101U);
}

// Debian's libzmq gives anonymous peers numbers, from rand() on.
TEST_F(EdgeSocketTest, NobodyChoosesOrGuessesAnId) {
  open();
  std::vector<std::unique_ptr<BarePeer>> forgers, honest;
  const std::uint32_t first = 0xeb8b4567;  // what two calls of the rand() below make
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::uint32_t next = htonl(first + 65 + i);
    std::string id(5, 0);
    std::memcpy(id.data() + 1, &next, sizeof(next));
    forgers.push_back(std::make_unique<BarePeer>(edge_->endpoint()));
    forgers.back()->shake_hands_as(i % 2 == 0 ? id : "alice" + std::to_string(i));
  }
  for (int i = 0; i < 500; ++i) {
    honest.push_back(std::make_unique<BarePeer>(edge_->endpoint()));
    honest.back()->shake_hands_as("");
    honest.back()->request("honest", std::to_string(i));
  }
  forgers[1]->request("forger", "");
  run_until([&] { return recorder_.requests.size() == 501; });
  std::set<ClientId> ids;
  for (const auto& request : recorder_.requests) {
    ids.insert(request.client);
    EXPECT_EQ(request.client.size(), 9U);
    EXPECT_FALSE(test::contains(request.client, "alice"));
  }
  EXPECT_EQ(ids.size(), 501U);
}

TEST_F(EdgeSocketTest, BoundsConnectionsInAllAndFromOneAddress) {
  EdgeOptions options;
  options.connections = 5;
  options.connections_per_address = 4;
  open(options);
  std::vector<std::unique_ptr<BarePeer>> in;
  for (int i = 0; i < 4; ++i) {
    in.push_back(std::make_unique<BarePeer>(edge_->endpoint()));
    in.back()->shake_hands_as("");
  }
  BarePeer fifth(edge_->endpoint());
  run_until([&] { return fifth.closed(); });
  EXPECT_EQ(edge_->door().refused_address, 1U);
  in.push_back(std::make_unique<BarePeer>(edge_->endpoint(), "127.0.0.2"));
  in.back()->shake_hands_as("");
  BarePeer sixth(edge_->endpoint(), "127.0.0.3");
  run_until([&] { return sixth.closed(); });
  EXPECT_EQ(edge_->door().refused_full, 1U);
  EXPECT_EQ(edge_->door().connections, 5U);
  in[0]->request("still", "served");
  run_until([&] { return recorder_.requests.size() == 1; });
  in.clear();
  run_until([&] { return edge_->door().connections == 0; });
}

std::chrono::nanoseconds used_by_process() {
  timespec time{};
  EXPECT_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Somebody waits at the listener all the time, which must not be looked at all the time.
TEST_F(EdgeSocketTest, LooksAwayWhileThereAreNoDescriptors) {
  open();
  const std::string endpoint = edge_->endpoint();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::optional<test::NoDescriptors> none(std::in_place);
  const int connected = ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const auto used = used_by_process();
  std::this_thread::sleep_for(1s);
  const auto busy = used_by_process() - used;
  const std::uint64_t tried = edge_->door().accept_failures;
  none.reset();
  EXPECT_EQ(connected, 0);
  EXPECT_GE(tried, 1U);
  EXPECT_LE(tried, 12U);
  EXPECT_LT(busy, 200ms);
  run_until([&] { return edge_->door().connections == 1; });
  ::close(client);
}

TEST_F(EdgeSocketTest, ClosesWhoeverIsIdle) {
  EdgeOptions options;
  options.idle_after = 300ms;
  open(options);
  BarePeer idle(edge_->endpoint()), busy(edge_->endpoint());
  idle.shake_hands_as("");
  busy.shake_hands_as("");
  run_until([&] {
    busy.request("h", "b");
    return idle.closed();
  });
  EXPECT_FALSE(busy.closed());
  EXPECT_EQ(edge_->door().closed_idle, 1U);
}

TEST_F(EdgeSocketTest, ClosesAMessageWithoutEnd) {
  open();
  BarePeer endless(edge_->endpoint());
  endless.shake_hands_as("");
  // Commands between frames begin no new message.
  const std::string frame = std::string("\x01\x01h\x04\x07\x04PING\0\0", 12);
  run_until([&] { return endless.push(frame) < 0 || endless.closed(); });
  EXPECT_EQ(edge_->door().closed_oversized, 1U);
  EXPECT_EQ(edge_->door().unread_bytes, 0U);
}

// Each of them may send so much; together they may not.
TEST_F(EdgeSocketTest, TheBiggestUnfinishedMessageGivesWay) {
  EdgeOptions options;
  options.receiving_bytes = 4 << 20;
  open(options);
  std::vector<std::unique_ptr<BarePeer>> hoarders;
  const std::string start("\x01\x01h\x02\0\0\0\0\x01\0\0\0", 12);  // announces 16 MiB
  for (int i = 0; i < 20; ++i) {
    hoarders.push_back(std::make_unique<BarePeer>(edge_->endpoint()));
    hoarders.back()->shake_hands_as("");
    hoarders.back()->send(start);
  }
  const std::string piece(64 << 10, 'x');
  for (int round = 0; round < 8; ++round) {
    for (const auto& hoarder : hoarders) hoarder->push(piece);
  }
  run_until([&] { return edge_->door().closed_unfinished > 0; });
  run_until([&] { return edge_->door().unfinished_bytes <= options.receiving_bytes / 2; });
  BarePeer honest(edge_->endpoint());
  honest.shake_hands_as("");
  honest.request("still", "served");
  run_until([&] { return recorder_.requests.size() == 1; });
}

// Whoever handles requests may be slow; what comes meanwhile waits at the senders.
TEST_F(EdgeSocketTest, ReadsNoMoreThanItMayKeep) {
  EdgeOptions options;
  options.receiving_bytes = 2 << 20;
  options.requests_per_client = 100'000;
  open(options);
  std::vector<std::unique_ptr<BarePeer>> senders;
  for (int i = 0; i < 4; ++i) {
    senders.push_back(std::make_unique<BarePeer>(edge_->endpoint()));
    senders.back()->shake_hands_as("");
  }
  const std::string request = std::string("\x01\x01h\0\x01x", 6);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += request;
  const std::size_t room = options.receiving_bytes / 2;
  std::size_t sent = 0;
  // 480 kB of requests take 10 MiB in ZeroMQ, so that this stops only at the bound.
  for (const auto& sender : senders) sent += static_cast<std::size_t>(sender->push(many));
  ASSERT_EQ(sent % request.size(), 0U);
  wait_until([&] { return edge_->door().unread_bytes > room; });
  EXPECT_LT(edge_->door().unread_bytes, room + (std::size_t{4} << 20));
  run_until([&] { return recorder_.requests.size() == sent / request.size(); });
  EXPECT_EQ(edge_->door().unread_bytes, 0U);
}

// Kernel buffers may take up to about ten MiB more of what is counted, at their leisure: the margins are
// wider.
TEST_F(EdgeSocketTest, TheBiggestHolderGivesWay) {
  EdgeOptions options;
  options.waiting_bytes = 40 << 20;
  options.slow_client_patience = 1h;
  options.linger = 0ms;
  open(options);
  RawClient hoarder(edge_->endpoint(), 1), late(edge_->endpoint(), 1);
  hoarder.send({"hoarder", ""});
  run_until([&] { return recorder_.requests.size() == 1; });
  late.send({"late", ""});
  run_until([&] { return recorder_.requests.size() == 2; });
  const ClientId first = recorder_.requests[0].client, second = recorder_.requests[1].client;
  const std::string large(1 << 20, 'x');
  run_until([&] {
    edge_->post({first, buffer("h"), buffer(large)});
    return edge_->waiting_bytes() >= std::size_t{36} << 20;
  });
  EXPECT_TRUE(recorder_.gone.empty());
  run_until([&] {
    edge_->post({second, buffer("h"), buffer(large)});
    return !recorder_.gone.empty();
  });
  EXPECT_EQ(recorder_.gone[0], (std::pair{first, ClientGone::kTooSlow})) << "not the one that came last";
}

}  // namespace
}  // namespace volvox
