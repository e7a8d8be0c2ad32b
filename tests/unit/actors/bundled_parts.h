#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/bundle.h"
#include "tests/unit/actors/session_house.h"

namespace volvox {

// The answers of a bundle, by part.
class Answers {
 public:
  void take(BundleReply&& reply) {
    const std::lock_guard lock(mutex_);
    ++replies_;
    for (Reply& part : reply.split()) {
      const std::size_t number = part.header.request_id - reply.first_id;
      if (number >= parts_.size()) parts_.resize(number + 1);
      EXPECT_FALSE(parts_[number]) << "part " << number << " is answered twice";
      parts_[number] = std::move(part);
    }
    final_ = reply.final;
    changed_.notify_all();
  }
  // Once all are there.
  std::vector<Reply> wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLongEnough, [this] { return final_; }));
    std::vector<Reply> replies;
    for (auto& part : parts_) {
      EXPECT_TRUE(part);
      replies.push_back(part ? std::move(*part) : Reply{});
    }
    return replies;
  }
  // Until so many have come.
  void wait_for(std::size_t answers) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLongEnough, [&] { return answered() >= answers; }));
  }

 private:
  std::size_t answered() const {
    return static_cast<std::size_t>(
        std::count_if(parts_.begin(), parts_.end(), [](const auto& part) { return part.has_value(); }));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Reply>> parts_;
  std::size_t replies_ = 0;
  bool final_ = false;
};

// A bundle of parts for the check model.
struct Parts {
  explicit Parts(const char* model = "check") { bundle.header.model = model; }
  Parts& add(const WireSessionToken& token, const Tokens& part) {
    bundle.parts.add(token, static_cast<std::uint32_t>(part.size()));
    tokens.insert(tokens.end(), part.begin(), part.end());
    return *this;
  }
  Parts& add(const SessionStream& session, const Tokens& part, bool last = false) {
    return add(session.next(last), part);
  }
  std::shared_ptr<Answers> submit(const Client& client) {
    if (!tokens.empty()) bundle.inputs = {wire_tensor("tokens", std::span(std::as_const(tokens)))};
    auto answers = std::make_shared<Answers>();
    const auto id = const_cast<Client&>(client).submit(
        bundle, [answers](BundleReply&& reply) { answers->take(std::move(reply)); });
    EXPECT_TRUE(id) << to_string(id.error());
    first_id = id.value_or(0);
    return answers;
  }
  std::vector<Reply> ask(const House& house) { return submit(*house.client)->wait(); }

  ClientBundle bundle;
  Tokens tokens;
  std::uint64_t first_id = 0;
};

inline void expect_state(const Reply& reply, const Tokens& so_far) {
  EXPECT_TRUE(reply.status()) << to_string(reply.status().error());
  EXPECT_EQ(state_in(reply), check_answer(so_far));
}

}  // namespace volvox
