#include "actors/edge/gateway.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "protocol/client/channel.h"
#include "tests/unit/actors/answering_router.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

using testing::HasSubstr;

// Results are made faster than they are sent: some find no room, and none is lost. Those are of parts of
// sessions, which are done.
TEST(Gateway, WhoeverAskedIsAnsweredThoughTheResultFindsNoRoom) {
  constexpr std::size_t kRequests = 64;
  ServeConfig config = loopback();
  config.limits.max_result_mib_in_flight = 1;
  std::vector<WorkPtr> asked;
  Monitor monitor("test");  // outlives the actors, and the gateway that the last of them lets go of
  AnsweringRouter router([&asked](const WorkPtr& work) {
    asked.push_back(work);
    if (asked.size() < kRequests) return;
    for (const WorkPtr& one : asked) {
      Outcome end = outcome_of(700 << 10);
      end.session.emplace().operation = SessionOperation::kContinue;
      one->settle(std::move(end));
    }
    asked.clear();
  });
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
    EXPECT_EQ(reply.header.undecided, code_of(reply) == ErrorCode::kOverloaded);
    EXPECT_TRUE(reply.status() || code_of(reply) == ErrorCode::kOverloaded) << reply.header.error.message;
  }
  EXPECT_LT(refused, kRequests);
}

// What a client is told of the parts of its bundle, all of which the router ends so.
std::vector<PartError> errors_of_bundle(ServeConfig config, std::size_t parts, const Outcome& end) {
  config.wire.bundle_gather_us = 60'000'000;  // they are answered when the last one is
  Monitor monitor("test");
  AnsweringRouter router([&end](const WorkPtr& work) { work->settle(Outcome(end)); });
  const auto admission = std::make_shared<Admission>(config, monitor.requests());
  auto gateway = Gateway::open(config, router.system, router.slot, admission, monitor.requests());
  EXPECT_TRUE(gateway);
  if (!gateway) return {};
  (*gateway)->start();
  std::vector<PartError> errors;
  ChannelOptions options;
  options.endpoint = (*gateway)->endpoint();
  auto channel = Channel::connect(options);
  EXPECT_TRUE(channel);
  if (!channel) return {};
  (*channel)->on_bundle([&](BundleReply&& reply) {
    EXPECT_FALSE(reply.local);
    errors.insert(errors.end(), reply.body.errors.begin(), reply.body.errors.end());
  });
  ClientBundle bundle;
  bundle.header.model = "check";
  for (std::size_t i = 0; i < parts; ++i) bundle.parts.add(WireSessionToken{}, 1);
  const std::vector<std::int32_t> tokens(parts, 3);
  bundle.inputs = {wire_tensor("tokens", std::span(tokens))};
  EXPECT_TRUE((*channel)->send(bundle));
  for (const auto until = std::chrono::steady_clock::now() + kLongEnough;
       (*channel)->in_flight() > 0 && std::chrono::steady_clock::now() < until;)
    (*channel)->poll(std::chrono::milliseconds(100), [](Reply&&) {});
  std::sort(errors.begin(), errors.end(),
            [](const PartError& a, const PartError& b) { return a.part < b.part; });
  return errors;
}

// The answers would be short, and fit one message but for their tokens.
TEST(Gateway, ErrorsThatAreLongerThanTheAnswersTravelInMoreMessages) {
  constexpr std::size_t kParts = 64;
  ServeConfig config = loopback();
  config.wire.max_body_bytes = 4096;
  Outcome end;
  end.session.emplace().operation = SessionOperation::kContinue;
  end.session->home = std::string(200, 'x');  // a name has 128 bytes
  const std::vector<PartError> errors = errors_of_bundle(config, kParts, end);
  ASSERT_EQ(errors.size(), kParts);
  for (std::size_t i = 0; i < kParts; ++i) {
    EXPECT_EQ(errors[i].part, i);
    EXPECT_THAT(errors[i].error.message, HasSubstr("session home"));
    EXPECT_TRUE(errors[i].undecided);
  }
}

TEST(Gateway, PartsWhoseErrorsDoNotFitAtAllAreAnsweredAllTheSame) {
  constexpr std::size_t kParts = 3;
  ServeConfig config = loopback();
  config.wire.max_body_bytes = 1024;
  Outcome end;
  end.error = Error{ErrorCode::kOverloaded, std::string(1000, 'x')};
  const std::vector<PartError> errors = errors_of_bundle(config, kParts, end);
  ASSERT_EQ(errors.size(), kParts);
  for (std::size_t i = 0; i < kParts; ++i) {
    EXPECT_EQ(errors[i].part, i);
    EXPECT_EQ(errors[i].error.code, ErrorCode::kInternal);
    EXPECT_TRUE(errors[i].undecided) << "nobody knows what became of it";
  }
}

}  // namespace
}  // namespace volvox
