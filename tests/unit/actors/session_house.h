#pragma once

#include <future>
#include <random>
#include <string>
#include <vector>

#include "protocol/client/session_stream.h"
#include "tests/unit/actors/house.h"

namespace volvox {

using Tokens = std::vector<std::int32_t>;

inline ServeConfig session_config(std::uint32_t max_resident = 1024) {
  ServeConfig config = loopback();
  config.sessions.max_resident = max_resident;
  return config;
}

// A stream to the check model, as its client sees it, and what it must give.
class CheckStream {
 public:
  explicit CheckStream(const House& house, std::uint64_t nonce = 0)
      : CheckStream(house, SessionStream(nonce)) {}
  CheckStream(const House& house, SessionStream session) : house_(house), session_(std::move(session)) {}

  // The request borrows the tokens until it was submitted.
  ClientRequest part(const Tokens& tokens, bool last = false) const {
    ClientRequest request = chain_request("check", "tokens", std::span(tokens));
    session_.stamp(request, last);
    return request;
  }
  std::future<Reply> submit(const Tokens& tokens, bool last = false) const {
    return house_.client->submit(part(tokens, last));
  }
  Reply take(std::future<Reply> answer, const Tokens& tokens) {
    EXPECT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
    Reply reply = answer.get();
    if (session_.take(reply)) so_far_.insert(so_far_.end(), tokens.begin(), tokens.end());
    return reply;
  }
  Reply send(const Tokens& tokens, bool last = false) { return take(submit(tokens, last), tokens); }
  // Sends a part that must be answered with the state after the whole stream.
  void check(const Tokens& tokens, bool last = false) {
    const Reply reply = send(tokens, last);
    ASSERT_TRUE(reply.status()) << to_string(reply.status().error());
    EXPECT_EQ(state_in(reply), expected());
  }
  void end() const {
    const Status ok = house_.ask(end_part()).status();
    EXPECT_TRUE(ok) << to_string(ok.error());
  }
  ClientRequest end_part() const {
    ClientRequest request = end_request("check");
    session_.stamp(request, true);
    return request;
  }

  std::uint64_t expected() const { return check_answer(so_far_); }
  SessionStream& session() { return session_; }

 private:
  const House& house_;
  SessionStream session_;
  Tokens so_far_;
};

inline Tokens random_tokens(std::mt19937_64& random) {
  Tokens tokens(1 + random() % 12);
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 1000);
  return tokens;
}

// A random part of each stream, all at once; each must be answered with the state after its whole stream.
inline void check_round(std::vector<CheckStream>& streams, std::mt19937_64& random) {
  std::vector<Tokens> parts;
  std::vector<std::future<Reply>> answers;
  for (CheckStream& stream : streams)
    answers.push_back(stream.submit(parts.emplace_back(random_tokens(random))));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Reply reply = streams[i].take(std::move(answers[i]), parts[i]);
    ASSERT_TRUE(reply.status()) << to_string(reply.status().error());
    EXPECT_EQ(state_in(reply), streams[i].expected());
  }
}

}  // namespace volvox
