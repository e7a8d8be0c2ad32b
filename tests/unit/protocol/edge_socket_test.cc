#include "protocol/edge_socket.h"

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/codec.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using namespace std::chrono_literals;
constexpr Duration kPatience = 20s;

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
WireBuffer buffer(const std::string& text) {
  return WireBuffer::copy_of(std::as_bytes(std::span(text)));
}

// Keeps what the edge said; used by the one thread that runs the edge.
struct Recorder : EdgeHandler {
  struct Seen {
    ClientId client;
    std::string header, body;
  };
  std::vector<Seen> requests;
  std::vector<std::pair<ClientId, ClientGone>> gone;

  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte> body) override {
    requests.push_back({client, text(header), text(body)});
  }
  void on_client_gone(const ClientId& client, ClientGone why) override { gone.emplace_back(client, why); }
};

// A client of bare frames.
class RawClient {
 public:
  explicit RawClient(const std::string& endpoint, int receive_queue = 1000) {
    EXPECT_TRUE(socket_.set(ZMQ_LINGER, 0));
    EXPECT_TRUE(socket_.set(ZMQ_RCVHWM, receive_queue));
    EXPECT_TRUE(socket_.set(ZMQ_RCVTIMEO, 20000));
    EXPECT_TRUE(socket_.connect(endpoint));
  }

  void send(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      ASSERT_GE(zmq_send(socket_.handle(), frames[i].data(), frames[i].size(),
                         i + 1 < frames.size() ? ZMQ_SNDMORE : 0),
                0);
    }
  }

  // One message, waiting for it if need be.
  std::vector<std::string> receive() {
    std::vector<std::string> frames;
    zmq_msg_t message;
    zmq_msg_init(&message);
    do {
      if (zmq_msg_recv(&message, socket_.handle(), 0) < 0) break;
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    } while (zmq_msg_more(&message) != 0);
    zmq_msg_close(&message);
    return frames;
  }

 private:
  ZmqContext context_;
  ZmqSocket socket_{context_, ZMQ_DEALER};
};

// A peer that speaks ZeroMQ's protocol (ZMTP 3.1) byte by byte.
class BarePeer {
 public:
  explicit BarePeer(const std::string& endpoint) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
    const sockaddr_in address{AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {}};
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~BarePeer() { ::close(socket_); }
  BarePeer(const BarePeer&) = delete;
  BarePeer& operator=(const BarePeer&) = delete;

  void send(const std::string& bytes) {
    ASSERT_EQ(::send(socket_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  void hear(std::size_t bytes) {
    std::string heard(bytes, 0);
    ASSERT_EQ(::recv(socket_, heard.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }

  // Greeting, then READY as a DEALER; the other side's greeting and the first byte of its READY.
  void shake_hands() {
    const std::string zeros(31, 0);
    send(std::string("\xff") + zeros.substr(0, 8) + "\x7f\x03\x01NULL" + zeros.substr(0, 17) + zeros);
    hear(64);
    send(std::string("\x04\x1c\5READY\x0bSocket-Type\0\0\0\6DEALER", 30));
    hear(1);
  }

  // Closes without a farewell.
  void reset() {
    const linger at_once{1, 0};
    EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    ::close(std::exchange(socket_, -1));
  }

 private:
  int socket_;
};

class EdgeSocketTest : public testing::Test {
 protected:
  void open(EdgeOptions options = {}, const std::string& endpoint = "tcp://127.0.0.1:*") {
    auto opened = EdgeSocket::open(options, recorder_);
    ASSERT_TRUE(opened) << to_string(opened.error());
    edge_ = std::move(*opened);
    const auto bound = edge_->bind(endpoint);
    ASSERT_TRUE(bound) << to_string(bound.error());
  }

  // Runs the edge until something holds; fails the test if it never does.
  void run_until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      edge_->run_once(10ms);
    }
  }

  Recorder recorder_;
  std::unique_ptr<EdgeSocket> edge_;
};

TEST_F(EdgeSocketTest, FindsAPortAndCarriesBothWays) {
  open();
  EXPECT_TRUE(edge_->endpoint().starts_with("tcp://127.0.0.1:")) << edge_->endpoint();
  EXPECT_EQ(edge_->endpoint().find('*'), std::string::npos);
  RawClient client(edge_->endpoint());
  client.send({"header", "body"});
  run_until([&] { return recorder_.requests.size() == 1; });
  EXPECT_EQ(recorder_.requests[0].header, "header");
  EXPECT_EQ(recorder_.requests[0].body, "body");
  EXPECT_TRUE(edge_->post({recorder_.requests[0].client, buffer("answer"), buffer("content")}));
  run_until([&] { return edge_->stats().replies == 1; });
  EXPECT_EQ(client.receive(), (std::vector<std::string>{"answer", "content"}));
  const EdgeStats stats = edge_->stats();
  EXPECT_EQ(stats.requests, 1U);
  EXPECT_EQ(stats.received_bytes, 10U);
  EXPECT_EQ(stats.sent_bytes, 13U);
}

TEST_F(EdgeSocketTest, ServesASocketFile) {
  const auto path =
      std::filesystem::temp_directory_path() / ("volvox-edge-" + std::to_string(::getpid()) + ".sock");
  open({}, "ipc://" + path.string());
  EXPECT_EQ(edge_->endpoint(), "ipc://" + path.string());
  RawClient client(edge_->endpoint());
  client.send({"a", ""});
  run_until([&] { return recorder_.requests.size() == 1; });
  EXPECT_EQ(recorder_.requests[0].body, "");
  edge_.reset();
  std::filesystem::remove(path);
}

TEST_F(EdgeSocketTest, TellsClientsApart) {
  open();
  RawClient first(edge_->endpoint()), second(edge_->endpoint());
  first.send({"1", "x"});
  second.send({"2", "x"});
  run_until([&] { return recorder_.requests.size() == 2; });
  EXPECT_NE(recorder_.requests[0].client, recorder_.requests[1].client);
  for (const auto& request : recorder_.requests) edge_->post({request.client, buffer(request.header), {}});
  run_until([&] { return edge_->stats().replies == 2; });
  EXPECT_EQ(first.receive().at(0), "1");
  EXPECT_EQ(second.receive().at(0), "2");
}

TEST_F(EdgeSocketTest, RefusesOtherNumbersOfFramesWithAnAnswer) {
  open();
  RawClient client(edge_->endpoint());
  client.send({"only one"});
  client.send({"", "header", "body"});
  client.send(std::vector<std::string>(20, "x"));
  client.send({"header", "body"});
  run_until([&] { return recorder_.requests.size() == 1; });
  EXPECT_EQ(edge_->stats().malformed, 3U);
  for (const char* count : {"but 1 came", "but 3 came", "but 20 came"}) {
    const auto frames = client.receive();
    ASSERT_EQ(frames.size(), 2U);
    const auto header = decode_reply_header(std::as_bytes(std::span(frames[0])), WireLimits{});
    ASSERT_TRUE(header);
    EXPECT_EQ(header->error.code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(test::contains(header->error.message, count)) << header->error.message;
  }
}

TEST_F(EdgeSocketTest, ReportsAClientThatIsGone) {
  open();
  {
    RawClient client(edge_->endpoint());
    client.send({"h", "b"});
    run_until([&] { return recorder_.requests.size() == 1; });
  }
  const ClientId client = recorder_.requests[0].client;
  run_until([&] {
    edge_->post({client, buffer("late"), {}});
    edge_->run_once(1ms);
    return !recorder_.gone.empty();
  });
  EXPECT_EQ(recorder_.gone[0], (std::pair{client, ClientGone::kUnreachable}));
  EXPECT_EQ(edge_->stats().dropped_unreachable, recorder_.gone.size());
  edge_->post({"never seen", buffer("x"), {}});
  run_until([&] { return recorder_.gone.back().first == "never seen"; });
}

TEST_F(EdgeSocketTest, NeverWaitsForASlowClient) {
  EdgeOptions options;
  options.replies_per_client = 4;
  options.slow_client_patience = 20ms;
  options.linger = 0ms;
  open(options);
  RawClient slow(edge_->endpoint(), 1), quick(edge_->endpoint());
  slow.send({"slow", ""});
  quick.send({"quick", ""});
  run_until([&] { return recorder_.requests.size() == 2; });
  const bool slow_first = recorder_.requests[0].header == "slow";
  const ClientId slow_id = recorder_.requests[slow_first ? 0 : 1].client;
  const ClientId quick_id = recorder_.requests[slow_first ? 1 : 0].client;
  // The slow one never reads: kernel buffers fill first, then its queue here.
  const std::string large(1 << 20, 'x');
  run_until([&] {
    edge_->post({slow_id, buffer("h"), buffer(large)});
    edge_->run_once(0ms);
    return !recorder_.gone.empty();
  });
  EXPECT_EQ(recorder_.gone[0], (std::pair{slow_id, ClientGone::kTooSlow}));
  EXPECT_GE(edge_->stats().dropped_slow, recorder_.gone.size());
  edge_->post({quick_id, buffer("still served"), {}});
  run_until([&] { return edge_->unsent() == 0; });
  EXPECT_EQ(quick.receive().at(0), "still served");
}

TEST_F(EdgeSocketTest, RefusesRepliesBeyondItsQueue) {
  EdgeOptions options;
  options.queued_replies = 3;
  options.queued_bytes = 100;
  open(options);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(edge_->post({"c", buffer("12345"), {}}));
  EXPECT_FALSE(edge_->post({"c", buffer("12345"), {}}));
  EXPECT_EQ(edge_->stats().refused_full, 1U);
  EXPECT_EQ(edge_->unsent(), 3U);
  edge_->run_once(0ms);
  EXPECT_EQ(edge_->unsent(), 0U);
  EXPECT_TRUE(edge_->post({"c", buffer(std::string(90, 'x')), {}}));
  EXPECT_FALSE(edge_->post({"c", buffer(std::string(20, 'x')), {}}));
}

TEST_F(EdgeSocketTest, ClosesAConnectionThatSendsTooMuch) {
  EdgeOptions options;
  options.limits.max_body_bytes = 8192;
  open(options);
  RawClient rude(edge_->endpoint()), polite(edge_->endpoint());
  rude.send({"h", std::string(8193, 'x')});
  polite.send({"h", std::string(8192, 'x')});
  run_until([&] { return !recorder_.requests.empty(); });
  edge_->run_once(100ms);
  ASSERT_EQ(recorder_.requests.size(), 1U);
  EXPECT_EQ(recorder_.requests[0].body.size(), 8192U);
}

// A peer of bare bytes: many requests, a ping, and a reset, while the edge is busy elsewhere. With a bounded
// receive queue libzmq 4.3.4 ends the process here.
TEST_F(EdgeSocketTest, SurvivesAFloodThatEndsInAReset) {
  open();
  BarePeer peer(edge_->endpoint());
  peer.shake_hands();
  const std::string request("\x01\x01h\0\1b", 6);  // two frames of one byte each
  std::string flood;
  for (int i = 0; i < 1300; ++i) flood += request;
  peer.send(flood + std::string("\x04\x07\x04PING\0\0", 9));
  // Nothing shows from outside that ZeroMQ's thread has taken the flood, or noticed the reset: give it time
  // for either.
  std::this_thread::sleep_for(50ms);
  peer.reset();
  std::this_thread::sleep_for(50ms);
  RawClient polite(edge_->endpoint());
  polite.send({"still", "served"});
  run_until([&] { return recorder_.requests.size() == 1301; });
}

TEST_F(EdgeSocketTest, WakesForRepliesAndForWake) {
  open();
  RawClient client(edge_->endpoint());
  client.send({"h", "b"});
  run_until([&] { return recorder_.requests.size() == 1; });
  // Each run_once would sleep for ever: the test ends only because it is woken.
  std::thread poster([&] {
    for (int i = 0; i < 200; ++i) {
      edge_->post({recorder_.requests[0].client, buffer(std::to_string(i)), {}});
      EXPECT_EQ(client.receive().at(0), std::to_string(i));
    }
    edge_->wake();
  });
  while (edge_->stats().replies < 200) edge_->run_once(Duration::max());
  edge_->run_once(Duration::max());
  poster.join();
}

TEST_F(EdgeSocketTest, ManyThreadsPostInTheirOwnOrder) {
  constexpr int kThreads = 4, kEach = 2000;
  EdgeOptions options;
  options.replies_per_client = 10;  // the rest waits its turn, and none is lost
  open(options);
  RawClient client(edge_->endpoint(), kThreads * kEach);
  client.send({"h", "b"});
  run_until([&] { return recorder_.requests.size() == 1; });
  const ClientId id = recorder_.requests[0].client;
  std::vector<std::thread> posters;
  for (int thread = 0; thread < kThreads; ++thread) {
    posters.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i)
        edge_->post({id, buffer(std::to_string(thread)), buffer(std::to_string(i))});
    });
  }
  while (edge_->stats().replies < kThreads * kEach) edge_->run_once(Duration::max());
  for (auto& poster : posters) poster.join();
  std::vector<int> next(kThreads, 0);
  for (int i = 0; i < kThreads * kEach; ++i) {
    const auto frames = client.receive();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[1], std::to_string(next[std::stoul(frames[0])]++));
  }
  EXPECT_TRUE(recorder_.gone.empty());
}

TEST_F(EdgeSocketTest, SaysWhatIsWrongWithAnEndpoint) {
  open();
  const auto taken = edge_->bind(edge_->endpoint());
  ASSERT_FALSE(taken);
  EXPECT_TRUE(test::contains(taken.error().message, "cannot bind 'tcp://127.0.0.1:"))
      << taken.error().message;
  EXPECT_FALSE(edge_->bind("nonsense"));
  EdgeOptions options;
  options.limits.max_rank = 0;
  EXPECT_FALSE(EdgeSocket::open(options, recorder_));
}

}  // namespace
}  // namespace volvox
