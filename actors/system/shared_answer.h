#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/time.h"

namespace volvox {

// For what monitoring asks actors.
inline constexpr Duration kAnswerIsFresh = std::chrono::milliseconds(100);

// A question that costs something, and that strangers may have asked as often as they like: one is under way
// at a time, whoever comes meanwhile waits for its answer, and an answer is good for `fresh`. Any thread.
template <class Answer>
class SharedAnswer {
 public:
  using Clock = TimePoint (*)();

  // `ask` may block, and is called by one of those who wait.
  SharedAnswer(std::function<Answer()> ask, Duration fresh, Clock now)
      : ask_(std::move(ask)), fresh_(fresh), now_(now) {}

  Answer get() {
    std::unique_lock lock(mutex_);
    settled_.wait(lock, [this] { return !asking_; });
    if (answer_ && now_() - asked_ < fresh_) return *answer_;
    asking_ = true;
    lock.unlock();
    std::optional<Answer> answer;
    try {
      answer.emplace(ask_());
      settle(answer);
    } catch (...) {
      settle(std::nullopt);
      throw;
    }
    return *std::move(answer);
  }

 private:
  void settle(std::optional<Answer> answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    asked_ = now_();
    asking_ = false;
    settled_.notify_all();
  }

  const std::function<Answer()> ask_;
  const Duration fresh_;
  const Clock now_;
  std::mutex mutex_;
  std::condition_variable settled_;
  bool asking_ = false;
  std::optional<Answer> answer_;
  TimePoint asked_{};
};

}  // namespace volvox
