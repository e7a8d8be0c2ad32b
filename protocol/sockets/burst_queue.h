#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "protocol/sockets/wakeup.h"

namespace volvox {

enum class PushResult { kTaken, kFull, kClosed };

// Many threads hand items to one that sleeps on sockets. Waking it costs a system call, so one is made per
// burst: only the first item after it fell asleep signals. Bounded in items and in bytes; a full queue
// refuses, it never blocks. push() and close(): any thread. The rest: the one consumer.
template <class T>
class BurstQueue {
 public:
  BurstQueue(std::size_t max_items, std::size_t max_bytes) : max_items_(max_items), max_bytes_(max_bytes) {}

  // Takes `item` unless the queue is full or closed; then `item` is unchanged. One item fits however large it
  // is, and so does one that is not `refusable`, for whose number the caller vouches.
  PushResult push(T&& item, std::size_t bytes, bool refusable = true) {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return PushResult::kClosed;
      if (refusable && !fits(bytes)) return PushResult::kFull;
      items_.push_back(std::move(item));
      bytes_ += bytes;
      wake = std::exchange(asleep_, false);
    }
    if (wake) event_.signal();
    return PushResult::kTaken;
  }

  // Whether push() would take so many bytes more.
  bool has_room(std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    return fits(bytes);
  }

  // Moves everything into `batch`, which must be empty; keeps its memory for later.
  void take(std::vector<T>& batch) {
    const std::lock_guard lock(mutex_);
    items_.swap(batch);
    bytes_ = 0;
  }

  // Refuses all later pushes and wakes the consumer; what is inside can still be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    event_.signal();
  }

  // Announces that the consumer is going to sleep on fd(). False if there is something to take: do not sleep
  // then.
  bool fall_asleep() {
    const std::lock_guard lock(mutex_);
    asleep_ = items_.empty();
    return asleep_;
  }

  void awake() {
    {
      const std::lock_guard lock(mutex_);
      asleep_ = false;
    }
    event_.clear();
  }

  // Wakes the consumer without an item; any thread.
  void wake() { event_.signal(); }
  int fd() const { return event_.fd(); }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  bool fits(std::size_t bytes) const {
    return items_.empty() || (items_.size() < max_items_ && bytes_ + bytes <= max_bytes_);
  }

  const std::size_t max_items_;
  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::vector<T> items_;
  std::size_t bytes_ = 0;
  bool asleep_ = false;
  bool closed_ = false;
  EventFd event_;
};

}  // namespace volvox
