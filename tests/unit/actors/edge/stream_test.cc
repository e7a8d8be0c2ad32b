#include <functional>
#include <future>
#include <vector>

#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

// A streamed answer as a client sees it.
struct Streamed {
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> states;  // by partial
  Reply last;
};

ClientRequest streamed_request(const std::vector<std::int32_t>& tokens, std::uint32_t from = 0,
                               const char* model = "every") {
  ClientRequest request = chain_request(model, "tokens", std::span(tokens));
  request.header.stream = true;
  request.header.stream_from = from;
  return request;
}

// Sends the request and waits for all of its answer; `on_partial` is told of each part.
Streamed stream(const House& house, const ClientRequest& request,
                const std::function<void(std::uint64_t id)>& on_partial = {}) {
  Streamed seen;
  std::promise<void> over;
  const auto sent = house.client->submit(request, [&](Reply&& reply) {
    if (reply.header.final) {
      seen.last = std::move(reply);
      return over.set_value();
    }
    seen.indices.push_back(reply.header.index);
    seen.states.push_back(state_in(reply));
    if (on_partial) on_partial(reply.header.request_id);
  });
  EXPECT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(over.get_future().wait_for(kLongEnough), std::future_status::ready);
  return seen;
}

std::vector<std::int32_t> some_tokens(std::size_t count) {
  std::vector<std::int32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<std::int32_t>(7 * i + 3);
  return tokens;
}

// Row t is the answer to the first t + 1 tokens.
void expect_rows(const Streamed& seen, const std::vector<std::int32_t>& tokens, std::uint32_t from) {
  ASSERT_TRUE(seen.last.status()) << seen.last.header.error.message;
  EXPECT_TRUE(seen.last.body.outputs.empty());
  ASSERT_EQ(seen.states.size(), tokens.size() - from);
  for (std::size_t i = 0; i < seen.states.size(); ++i) {
    const auto row = static_cast<std::uint32_t>(from + i);
    EXPECT_EQ(seen.indices[i], row);
    EXPECT_EQ(seen.states[i], check_answer({tokens.begin(), tokens.begin() + row + 1}));
  }
}

TEST(Stream, SendsEachRowOnceAndInOrder) {
  const House house(loopback(), {20, 1});
  for (const std::size_t length : {1U, 2U, 77U}) {
    const auto tokens = some_tokens(length);
    expect_rows(stream(house, streamed_request(tokens)), tokens, 0);
  }
}

TEST(Stream, GoesOnFromWhereItIsAsked) {
  const House house;
  const auto tokens = some_tokens(20);
  for (const std::uint32_t from : {1U, 13U, 20U}) {
    expect_rows(stream(house, streamed_request(tokens, from)), tokens, from);
  }
}

TEST(Stream, RunsBesideRequestsThatAreNotStreamed) {
  const House house(loopback(), {20, 1});
  const auto tokens = some_tokens(30);
  std::vector<std::future<Reply>> others;
  for (int i = 0; i < 20; ++i) others.push_back(house.submit(tokens));
  expect_rows(stream(house, streamed_request(tokens)), tokens, 0);
  for (auto& other : others) EXPECT_EQ(state_in(other.get()), check_answer(tokens));
}

TEST(Stream, AnAnswerThatIsNotStreamedHasAllRows) {
  const House house;
  const Reply reply = house.ask(some_tokens(9), "every");
  ASSERT_TRUE(reply.status()) << reply.header.error.message;
  ASSERT_EQ(reply.body.outputs.size(), 1U);
  EXPECT_EQ(reply.body.outputs[0].values<std::uint64_t>()->size(), 9U);
}

TEST(Stream, IsRefusedWhereThereAreNoRows) {
  const House house;
  const auto tokens = some_tokens(3);
  EXPECT_EQ(code_of(stream(house, streamed_request(tokens, 0, "check")).last), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(stream(house, streamed_request(tokens, 4)).last), ErrorCode::kInvalidArgument);
}

TEST(Stream, ACancelledOneEndsWithOneAnswer) {
  const House house(loopback(), {1000, 0});
  const auto tokens = some_tokens(1000);
  const Streamed seen =
      stream(house, streamed_request(tokens), [&](std::uint64_t id) { house.client->cancel(id); });
  EXPECT_EQ(code_of(seen.last), ErrorCode::kCancelled);
  EXPECT_LT(seen.states.size(), tokens.size());
  for (std::size_t i = 0; i < seen.indices.size(); ++i) EXPECT_EQ(seen.indices[i], i);
}

}  // namespace
}  // namespace volvox
