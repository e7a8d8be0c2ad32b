#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/client/channel.h"
#include "tests/unit/actors/session_house.h"

namespace volvox {
namespace {

// A connection over which first parts of many sessions are sent at once, each in a message of its own.
class BurstOfParts {
 public:
  explicit BurstOfParts(const House& house) : house_(house) {
    ChannelOptions options;
    options.endpoint = house.server->endpoint();
    auto channel = Channel::connect(options);
    EXPECT_TRUE(channel);
    channel_ = std::move(*channel);
  }

  void send(int parts) {
    for (int i = 0; i < parts; ++i) {
      const Tokens tokens{i, i + 1};
      const auto id = channel_->send(CheckStream(house_, SessionStream::begin()).part(tokens));
      ASSERT_TRUE(id);
      wanted_[*id] = check_answer(tokens);
    }
  }
  std::uint64_t first_id() const { return wanted_.begin()->first; }
  void cancel(std::uint64_t first, std::uint32_t count) { ASSERT_TRUE(channel_->cancel(first, count)); }

  // How many were answered that they are cancelled; all others with their state.
  std::size_t wait() {
    std::size_t cancelled = 0;
    while (!wanted_.empty()) {
      channel_->poll(std::chrono::seconds(1), [&](Reply&& reply) {
        const auto found = wanted_.find(reply.header.request_id);
        ASSERT_NE(found, wanted_.end()) << "answered twice";
        if (reply.header.kind == ReplyKind::kError) {
          EXPECT_EQ(reply.header.error.code, ErrorCode::kCancelled);
          ++cancelled;
        } else {
          EXPECT_EQ(state_in(reply), found->second);
        }
        wanted_.erase(found);
      });
    }
    return cancelled;
  }

 private:
  const House& house_;
  std::unique_ptr<Channel> channel_;
  std::map<std::uint64_t, std::uint64_t> wanted_;  // state by id
};

constexpr int kParts = 100;

TEST(LoneParts, OfManyConnectionsAreAnsweredEachToItsOwn) {
  const House house(session_config());
  std::vector<std::unique_ptr<BurstOfParts>> callers;
  for (int i = 0; i < 4; ++i) callers.push_back(std::make_unique<BurstOfParts>(house));
  for (const auto& caller : callers) caller->send(kParts);
  for (const auto& caller : callers) EXPECT_EQ(caller->wait(), 0U);
  EXPECT_EQ(metric(house, "volvox_sessions_begun_total"), 4 * kParts);
}

// All of them number their requests the same way.
TEST(LoneParts, ACancelIsForThoseOfItsOwnConnection) {
  const auto device = held_device();
  const House house(session_config(), device);
  BurstOfParts one(house), other(house);
  one.send(kParts);
  other.send(kParts);
  house.wait_for_live(2 * kParts);
  one.cancel(one.first_id() + 10, 30);
  wait_for_metric(house, "volvox_requests_total{outcome=\"cancelled\"}", 30);
  const LetRun run(device);
  EXPECT_EQ(one.wait(), 30U);
  EXPECT_EQ(other.wait(), 0U);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
}

TEST(LoneParts, AClientThatVanishesTakesOnlyItsOwnWithIt) {
  const auto device = held_device();
  ServeConfig config = session_config();
  config.limits.silent_client_ms = 1000;
  const House house(config, device);
  BurstOfParts stays(house);
  {
    BurstOfParts goes(house);
    goes.send(kParts);
    stays.send(kParts);
    wait_for_metric(house, "volvox_sessions_begun_total", 2 * kParts);
  }
  // Whoever waits says so now and then.
  auto answers = std::async(std::launch::async, [&] { return stays.wait(); });
  wait_for_metric(house, "volvox_requests_total{outcome=\"cancelled\"}", kParts);
  const LetRun run(device);
  EXPECT_EQ(answers.get(), 0U);
  wait_for_metric(house, "volvox_live_requests{device=\"fake\"}", 0);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  wait_for_metric(house, "volvox_request_bytes_in_flight", 0);
}

}  // namespace
}  // namespace volvox
