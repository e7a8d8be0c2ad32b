#include "actors/edge/gateway.h"

#include <future>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/actors/answering_router.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

// Results are made faster than they are sent: some find no room, and none is lost.
TEST(Gateway, WhoeverAskedIsAnsweredThoughTheResultFindsNoRoom) {
  constexpr std::size_t kRequests = 64;
  ServeConfig config = loopback();
  config.limits.max_result_mib_in_flight = 1;
  std::vector<WorkPtr> asked;
  AnsweringRouter router([&asked](const WorkPtr& work) {
    asked.push_back(work);
    if (asked.size() < kRequests) return;
    for (const WorkPtr& one : asked) one->settle(outcome_of(700 << 10));
    asked.clear();
  });
  Monitor monitor("test");
  const auto admission = std::make_shared<Admission>(config, monitor.requests());
  auto gateway = Gateway::open(config, router.system, router.slot, admission, monitor.requests());
  ASSERT_TRUE(gateway) << gateway.error().message;
  (*gateway)->start();
  ClientOptions options;
  options.channel.endpoint = (*gateway)->endpoint();
  auto client = Client::connect(options);
  ASSERT_TRUE(client) << client.error().message;
  const std::vector<std::int32_t> tokens{1};
  std::vector<std::future<Reply>> answers;
  for (std::size_t i = 0; i < kRequests; ++i)
    answers.push_back((*client)->submit(chain_request("check", "tokens", std::span(tokens))));
  std::size_t refused = 0;
  for (auto& answer : answers) {
    ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready) << "a result was lost";
    const Reply reply = answer.get();
    refused += code_of(reply) == ErrorCode::kOverloaded ? 1 : 0;
    EXPECT_TRUE(reply.status() || code_of(reply) == ErrorCode::kOverloaded) << reply.header.error.message;
  }
  EXPECT_LT(refused, kRequests);
}

}  // namespace
}  // namespace volvox
