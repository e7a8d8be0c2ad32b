// Parts of sessions that were sent ahead of one that does not come: they cost their sender nothing, so they
// must cost the others nothing.

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>

#include "actors/edge/admission.h"
#include "actors/node/model_host.h"
#include "tests/unit/actors/session_house.h"

namespace volvox {
namespace {

constexpr std::uint32_t kInFlight = 64;

std::vector<CheckStream> begun_streams(const House& house, std::size_t count) {
  std::vector<CheckStream> streams;
  for (std::size_t i = 0; i < count; ++i) streams.emplace_back(house).check({1});
  return streams;
}

// Parts of the stream from the one after the next on.
void send_ahead(const House& house, const CheckStream& stream, std::uint64_t count,
                std::vector<std::future<Reply>>& answers) {
  const Tokens tokens{2, 3};
  for (std::uint64_t i = 1; i <= count; ++i) {
    ClientRequest part = stream.part(tokens);
    part.header.session->sequence += i;
    part.header.cells_hint = ~0U;
    answers.push_back(house.client->submit(part));
  }
}

// Until so many are there: those that are refused hold places until then.
void wait_for_answers(const std::vector<std::future<Reply>>& answers, std::size_t count) {
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  const auto is_there = [](const std::future<Reply>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  while (static_cast<std::size_t>(std::count_if(answers.begin(), answers.end(), is_there)) < count) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "too few answers";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ParkedParts, ShutNobodyOutAndAreAnsweredAfterAWhile) {
  ServeConfig config = session_config();
  config.limits.max_requests_in_flight = kInFlight;
  config.sessions.max_parked_per_client = kInFlight / 10;  // one client stands for many here
  config.sessions.park_ms = 400;
  const House house(config);
  std::vector<CheckStream> streams = begun_streams(house, 16);
  std::vector<std::future<Reply>> answers;
  for (const CheckStream& stream : streams) send_ahead(house, stream, kInFlight / 16, answers);
  wait_for_answers(answers, answers.size() - kInFlight / 10);
  const Tokens tokens{4, 5};
  std::vector<std::future<Reply>> others;
  for (std::uint32_t i = 0; i < kInFlight / 2; ++i)
    others.push_back(house.client->submit(chain_request("check", "tokens", std::span(tokens))));
  for (auto& other : others) {
    const Reply reply = other.get();
    EXPECT_TRUE(reply.status()) << to_string(reply.status().error());
  }
  std::size_t refused = 0, waited = 0;
  for (auto& answer : answers) {
    ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
    const ErrorCode code = code_of(answer.get());
    refused += code == ErrorCode::kOverloaded ? 1 : 0;
    waited += code == ErrorCode::kUnavailable ? 1 : 0;
  }
  EXPECT_GE(waited, kInFlight / 10);
  EXPECT_EQ(refused + waited, answers.size());
  EXPECT_EQ(metric(house, "volvox_session_parked_parts"), 0.0);
  EXPECT_EQ(metric(house, "volvox_session_parked_too_long_total"), static_cast<double>(waited));
  for (CheckStream& stream : streams) stream.check({6});
}

// What is claimed of parts that only wait is no work that others stand behind.
TEST(ParkedParts, AreNoWorkAhead) {
  const auto workload = std::make_shared<Workload>();
  ModelCost cost;
  cost.alone_us = cost.full_us = 1000;
  workload->set_model(0, cost);
  {
    WorkPlace usual(workload, 0, PriorityClass::kNormal, false);  // else nothing is known of what comes
    static_cast<void>(usual.correct(30, Duration::max()));
    usual.done(30);
  }
  std::vector<std::unique_ptr<WorkPlace>> parked;
  for (int i = 0; i < 200; ++i)
    parked.push_back(std::make_unique<WorkPlace>(workload, 0, PriorityClass::kNormal, true));
  EXPECT_EQ(workload->backlog(), Duration::zero());
  static_cast<void>(parked[7]->correct(30, Duration::max()));  // it runs
  EXPECT_EQ(workload->backlog(), std::chrono::milliseconds(30));
  parked[7]->done(30);
  parked.clear();
  EXPECT_EQ(workload->backlog(), Duration::zero());
  // What was done is what a request counts for that nobody has read yet, whatever its client says of it.
  const WorkPlace unread(workload, 0, PriorityClass::kNormal, false);
  EXPECT_EQ(workload->backlog(), std::chrono::milliseconds(30));
}

// Whether a part can run is seen only after it was let in.
TEST(ParkedParts, AreNoWorkAheadFromTheDoorOn) {
  const ServeConfig config = session_config();
  const Scratch scratch;
  Monitor monitor("test");
  const NodePtr node = make_node(config, Devices{held_device()}, monitor);
  ModelHost host(node, {std::make_shared<ActorSlot>()}, {}, monitor.models());
  ASSERT_TRUE(host.install(write_models(scratch)));
  Admission admission(config, node);
  const Tokens tokens{1, 2, 3};
  RequestHeader header = chain_request("check", "tokens", std::span(tokens)).header;
  const auto usual = admission.admit({"a", ""}, header, {});
  ASSERT_TRUE(usual);
  static_cast<void>((*usual)->place->correct(30, Duration::max()));
  (*usual)->place->done(30);
  const auto first = admission.admit({"a", ""}, header, {});
  ASSERT_TRUE(first);
  const Duration one = admission.backlog();
  EXPECT_GT(one, Duration::zero());
  header.session.emplace().operation = SessionOperation::kContinue;
  const auto part = admission.admit({"a", ""}, header, {});
  ASSERT_TRUE(part);
  EXPECT_EQ(admission.backlog(), one);
  header.session.reset();
  const auto whole = admission.admit({"a", ""}, header, {});
  ASSERT_TRUE(whole);
  EXPECT_GT(admission.backlog(), one) << "as others";
}

}  // namespace
}  // namespace volvox
