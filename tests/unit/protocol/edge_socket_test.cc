#include "protocol/sockets/edge_socket.h"

#include <filesystem>

#include "tests/unit/protocol/edge_peers.h"

namespace volvox {
namespace {

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
  EXPECT_EQ(edge_->stats().requests, 1U);
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

TEST_F(EdgeSocketTest, KeepsLargeBodiesWhereTheyLieAndCopiesSmallOnes) {
  open();
  recorder_.keeps = edge_.get();
  RawClient client(edge_->endpoint());
  const std::vector<std::size_t> sizes{0, 5, 31U << 10, 64U << 10, 1U << 20, 32U << 10, 3U << 20, 100};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    client.send({"header", std::string(sizes[i], static_cast<char>('a' + i))});
  run_until([&] { return recorder_.requests.size() == sizes.size(); });
  edge_.reset();  // what is kept outlives it
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& [bytes, came] = recorder_.kept[i];
    EXPECT_EQ(text(bytes->bytes()), std::string(sizes[i], static_cast<char>('a' + i)));
    EXPECT_EQ(bytes->data() == came, sizes[i] >= (32U << 10)) << sizes[i];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes->data()) % 8, 0U);
  }
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

TEST_F(EdgeSocketTest, AnErrorFindsRoomWhereItsResultDoesNot) {
  EdgeOptions options;
  options.queued_replies = 1;
  open(options);
  RawClient client(edge_->endpoint());
  client.send({"h", "b"});
  run_until([&] { return recorder_.requests.size() == 1; });
  const ClientId id = recorder_.requests[0].client;
  EXPECT_TRUE(edge_->post({id, buffer("first"), {}}));
  EXPECT_FALSE(edge_->has_room(0));
  EXPECT_FALSE(edge_->post({id, buffer("second"), buffer("large")}));
  edge_->post_anyway({id, buffer("no room"), {}});
  run_until([&] { return edge_->stats().replies == 2; });
  EXPECT_EQ(client.receive().at(0), "first");
  EXPECT_EQ(client.receive().at(0), "no room");
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
