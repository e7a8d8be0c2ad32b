#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/client/channel.h"
#include "protocol/codec/codec.h"
#include "protocol/curve/curve_clients.h"
#include "protocol/curve/curve_keys.h"
#include "protocol/sockets/edge_socket.h"
#include "tests/unit/protocol/patience.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

class Curve : public testing::Test, public EdgeHandler {
 protected:
  Curve() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("volvox_curve_" + std::string(test->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "clients");
  }
  // Not in the destructor: the thread calls virtual functions of this object.
  void TearDown() override {
    stop_ = true;
    if (edge_) edge_->wake();
    if (thread_.joinable()) thread_.join();
    fs::remove_all(folder_);
  }

  static CurveKeys keys() { return new_curve_keys().value(); }
  void allow(const std::string& name, const CurveKeys& client) {
    ASSERT_TRUE(write_public_key(folder_ / "clients" / (name + ".key"), client));
  }

  void serve(CurveClients clients, EdgeOptions options = {}) {
    options.keys = EdgeKeys{server_, std::move(clients)};
    edge_ = std::move(EdgeSocket::open(options, *this)).value();
    ASSERT_TRUE(edge_->bind("tcp://127.0.0.1:*"));
    thread_ = std::thread([this] {
      while (!stop_) edge_->run_once(50ms);
    });
  }
  void serve_folder() { serve(std::move(CurveClients::in_folder(folder_ / "clients")).value()); }

  Result<std::unique_ptr<Channel>> connect(std::optional<ChannelKeys> keys) const {
    ChannelOptions options;
    options.endpoint = edge_->endpoint();
    options.keys = std::move(keys);
    options.connect_timeout = kPatience;
    return Channel::connect(options);
  }
  ErrorCode refusal(std::optional<ChannelKeys> keys) const {
    const auto channel = connect(std::move(keys));
    return channel ? ErrorCode{} : channel.error().code;
  }

  // The name under which the server knows the channel's client.
  std::string name_of(Channel& channel) {
    EXPECT_TRUE(channel.ping());
    Reply reply;
    EXPECT_EQ(channel.poll(kPatience, [&](Reply&& got) { reply = std::move(got); }), 1U);
    EXPECT_TRUE(reply.status());
    return reply.header.server;
  }
  void wait_for_refused(std::uint64_t count) const {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (edge_->stats().refused_clients < count && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_GE(edge_->stats().refused_clients, count);
  }

  // Answers with the sender's name.
  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte>) override {
    const auto request = decode_request_header(header, {});
    ReplyHeader reply;
    reply.kind = ReplyKind::kPong;
    reply.request_id = request->request_id;
    reply.server = edge_->sender_name();
    edge_->post({client, std::move(encode_reply_header(reply, {})).value(), {}});
  }
  void on_client_gone(const ClientId&, ClientGone) override {}

  fs::path folder_;
  const CurveKeys server_ = keys();
  std::unique_ptr<EdgeSocket> edge_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(Curve, KnowsItsClientsByName) {
  const CurveKeys alice = keys(), bob = keys();
  allow("alice", alice);
  allow("bob", bob);
  serve_folder();
  const auto first = connect(ChannelKeys{server_.public_key, alice});
  const auto second = connect(ChannelKeys{server_.public_key, bob});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(name_of(**first), "alice");
  EXPECT_EQ(name_of(**second), "bob");
  EXPECT_EQ(edge_->stats().refused_clients, 0U);
}

TEST_F(Curve, BoundsTheConnectionsOfOneKey) {
  const CurveKeys alice = keys(), bob = keys();
  allow("alice", alice);
  allow("bob", bob);
  EdgeOptions options;
  options.connections_per_key = 2;
  serve(std::move(CurveClients::in_folder(folder_ / "clients")).value(), options);
  auto first = connect(ChannelKeys{server_.public_key, alice});
  const auto second = connect(ChannelKeys{server_.public_key, alice});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(name_of(**first), "alice");
  EXPECT_EQ(name_of(**second), "alice");
  // Closed right after its handshake: it may notice at once, or after a ping or two.
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool served = true;
  for (auto third = connect(ChannelKeys{server_.public_key, alice}); third && served;) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "it is let in";
    served = (*third)->ping().has_value();
    if (!served) break;
    (*third)->poll(kPatience, [&](Reply&& reply) { served = reply.status().has_value(); });
  }
  const auto other = connect(ChannelKeys{server_.public_key, bob});
  ASSERT_TRUE(other);
  EXPECT_EQ(name_of(**other), "bob");
  first->reset();
  bool again = false;
  while (!again && std::chrono::steady_clock::now() < until) {
    const auto next = connect(ChannelKeys{server_.public_key, alice});
    if (!next || !(*next)->ping()) continue;
    (*next)->poll(kPatience, [&](Reply&& reply) { again = reply.status().has_value(); });
  }
  EXPECT_TRUE(again) << "a place that is free again is not taken";
}

TEST_F(Curve, RefusesWhomItDoesNotKnow) {
  allow("alice", keys());
  serve_folder();
  EXPECT_EQ(refusal(ChannelKeys{server_.public_key, keys()}), ErrorCode::kUnauthenticated);
  wait_for_refused(1);
}

TEST_F(Curve, RefusesPlainTextAndForeignServersKeys) {
  const CurveKeys alice = keys();
  allow("alice", alice);
  serve_folder();
  EXPECT_EQ(refusal(std::nullopt), ErrorCode::kUnauthenticated);
  wait_for_refused(1);
  EXPECT_EQ(refusal(ChannelKeys{keys().public_key, alice}), ErrorCode::kUnauthenticated);
  wait_for_refused(2);
  const auto channel = connect(ChannelKeys{server_.public_key, alice});
  ASSERT_TRUE(channel);
  EXPECT_EQ(name_of(**channel), "alice");
}

TEST_F(Curve, LetsInAnybodyWhoKnowsTheServersKey) {
  serve(CurveClients::anybody());
  const CurveKeys stranger = keys();
  const auto channel = connect(ChannelKeys{server_.public_key, stranger});
  ASSERT_TRUE(channel);
  EXPECT_EQ(name_of(**channel), stranger.public_key);
  EXPECT_EQ(refusal(std::nullopt), ErrorCode::kUnauthenticated);
}

TEST_F(Curve, SeesClientsComeAndGo) {
  const CurveKeys alice = keys(), bob = keys();
  allow("alice", alice);
  serve_folder();
  EXPECT_EQ(refusal(ChannelKeys{server_.public_key, bob}), ErrorCode::kUnauthenticated);
  allow("bob", bob);
  fs::remove(folder_ / "clients" / "alice.key");
  EXPECT_TRUE(connect(ChannelKeys{server_.public_key, bob}));
  EXPECT_EQ(refusal(ChannelKeys{server_.public_key, alice}), ErrorCode::kUnauthenticated);
}

TEST_F(Curve, KeysThatAreNoKeysAreAClearError) {
  serve(CurveClients::anybody());
  EXPECT_EQ(refusal(ChannelKeys{"short", keys()}), ErrorCode::kInvalidArgument);
}

TEST_F(Curve, KeyFilesAreReadAsWritten) {
  const CurveKeys pair = keys();
  const fs::path secret = folder_ / "a.key_secret", open = folder_ / "a.key";
  ASSERT_TRUE(write_secret_key(secret, pair));
  ASSERT_TRUE(write_public_key(open, pair));
  EXPECT_EQ(read_secret_key(secret)->secret_key, pair.secret_key);
  EXPECT_EQ(read_public_key(open)->public_key, pair.public_key);
  EXPECT_TRUE(read_public_key(secret)->secret_key.empty());
  EXPECT_EQ(fs::status(secret).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(write_secret_key(secret, pair)) << "an existing file is replaced";
}

TEST_F(Curve, BadKeyFilesAreNamed) {
  const auto said = [&](const std::string& text, bool secret) {
    std::ofstream(folder_ / "bad.key") << text;
    fs::permissions(folder_ / "bad.key", fs::perms::owner_read | fs::perms::owner_write);
    const auto read = secret ? read_secret_key(folder_ / "bad.key") : read_public_key(folder_ / "bad.key");
    return read ? "nothing" : read.error().message;
  };
  const CurveKeys pair = keys(), other = keys();
  EXPECT_THAT(said("", false), HasSubstr("bad.key"));
  EXPECT_THAT(said("public-key = \"short\"\n", false), HasSubstr("no valid public-key"));
  EXPECT_THAT(said("public-key = \"" + pair.public_key + "\"\n", true), HasSubstr("no valid secret-key"));
  EXPECT_THAT(
      said("public-key = \"" + pair.public_key + "\"\nsecret-key = \"" + other.secret_key + "\"\n", true),
      HasSubstr("do not belong together"));
  EXPECT_THAT(read_public_key(folder_ / "none.key").error().message, HasSubstr("none.key"));
  EXPECT_FALSE(CurveClients::in_folder(folder_ / "none"));
  std::ofstream(folder_ / "clients" / "bad.key") << "nothing";
  EXPECT_FALSE(CurveClients::in_folder(folder_ / "clients"));
}

}  // namespace
}  // namespace volvox
