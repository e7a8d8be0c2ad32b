// Whoever has many requests waiting shuts nobody else out, from connection to device.

#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "actors/edge/admission.h"
#include "protocol/codec/bundle_codec.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

TEST(ClientsInTurn, ASingleRequestPassesTheBacklogOfAnotherConnection) {
  constexpr int kFlood = 100, kSteps = 40;
  const std::vector<std::int32_t> tokens(kSteps, 3);
  ServeConfig config = loopback();
  config.batching.max_batch = 1;
  config.batching.max_tasks_to_submit = 1;
  const auto device = held_device();
  const House house(config, device);
  std::vector<std::future<Reply>> flood;
  for (int i = 0; i < kFlood; ++i) flood.push_back(house.submit(tokens));
  house.wait_for_live(kFlood);
  const auto other = house.connect();
  auto single = other->submit(chain_request("check", "tokens", std::span(tokens)));
  house.wait_for_live(kFlood + 1);
  // Tasks of one row, and no more of them than half a dozen requests have.
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  for (int left = 6 * kSteps; left > 0 && std::chrono::steady_clock::now() < until;) {
    const int ran = static_cast<int>(device->run(0, 1));
    left -= ran;
    if (ran == 0) std::this_thread::yield();
  }
  ASSERT_EQ(single.wait_for(kLongEnough), std::future_status::ready);
  EXPECT_EQ(state_in(single.get()), check_answer(tokens));
  const LetRun rest(device);
  for (auto& answer : flood) {
    ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
    EXPECT_EQ(state_in(answer.get()), check_answer(tokens));
  }
}

TEST(ClientsInTurn, AClientIsAKeyOrElseAConnectionHereOrFarAway) {
  Monitor monitor("test");
  Admission admission(loopback(), monitor.requests());
  const auto number = [&](const Caller& caller) { return (*admission.admit(caller, {}, {}))->client_number; };
  const std::uint64_t first = number({"a"}), second = number({"b"});
  EXPECT_NE(first, 0U);
  EXPECT_NE(first, second);
  EXPECT_EQ(number({"a"}), first);
  EXPECT_EQ(number({"a", "alice"}), number({"b", "alice"}));
  EXPECT_NE(number({"a", "alice"}), number({"a", "bob"}));
  EXPECT_EQ(number({{}, {}, true, 77}), 77U) << "as its router calls it";
  EXPECT_EQ(number({{}, "alice", true, 77}), number({"a", "alice"}));
  EXPECT_EQ(number({}), 0U) << "nobody is known";
}

// Two keys with one number would have their turns together: whoever could look for such a key could put a
// flood before its victim's requests.
TEST(ClientsInTurn, NobodyCanReckonTheNumberOfAKey) {
  Monitor monitor("test");
  Admission one(loopback(), monitor.requests()), other(loopback(), monitor.requests());
  const auto number = [](Admission& admission) {
    return (*admission.admit({"a", "alice"}, {}, {}))->client_number;
  };
  EXPECT_NE(number(one), number(other)) << "each process draws its own";
  EXPECT_EQ(number(one), number(one));
}

TEST(ClientsInTurn, PartsOfABundleAreTheirClients) {
  Monitor monitor("test");
  Admission admission(loopback(), monitor.requests());
  ClientBundle bundle;
  for (int i = 0; i < 2; ++i) bundle.parts.add(WireSessionToken{}, 0);
  const auto body = encode_request_bundle(bundle.body(), WireLimits());
  ASSERT_TRUE(body) << body.error().message;
  for (const Caller& caller : {Caller{"a"}, Caller{"a", "alice"}}) {
    const std::uint64_t alone = (*admission.admit(caller, {}, {}))->client_number;
    const auto admitted = admission.admit_bundle(caller, bundle.counted_header(), body->bytes());
    ASSERT_TRUE(admitted);
    ASSERT_EQ(admitted->parts.size(), 2U);
    for (const auto& part : admitted->parts) EXPECT_EQ(part->client_number, alone);
  }
}

}  // namespace
}  // namespace volvox
