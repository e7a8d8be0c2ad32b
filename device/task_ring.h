#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/spin.h"

namespace volvox {

// Tasks must run back to back without the thread that submits them. A ring of entries between one producer
// and one consumer: bounded, never allocates after construction; the consumer spins for a moment, then
// sleeps. Entries are filled and read in place.
template <class Entry>
class TaskRing {
 public:
  explicit TaskRing(std::size_t capacity) : entries_(std::bit_ceil(capacity < 2 ? 2 : capacity)) {}

  // Producer. nullptr: full. What it returns belongs to the producer until push().
  Entry* next_free() {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == entries_.size()) return nullptr;
    return &entries_[tail & (entries_.size() - 1)];
  }
  void push() {
    push_quietly();
    wake_consumer();
  }
  // The same, but a consumer that sleeps goes on sleeping: the producer sees to the entry, or wakes it later.
  void push_quietly() { tail_.store(tail_.load(std::memory_order_relaxed) + 1); }
  // Producer: whether the consumer sleeps, so that the next push() will have to wake it.
  bool consumer_sleeps() const { return asleep_.load(); }
  void wake_consumer() const {
    // The consumer says that it sleeps before it looks a last time.
    if (!asleep_.load()) return;
    bell_.fetch_add(1);
    bell_.notify_one();
  }
  // Producer: the consumer's await() returns nullptr from now on, whatever is in the ring.
  void close() {
    closed_.store(true);
    wake_consumer();
  }

  // Consumer. The oldest entry, when there is one; nullptr once closed. It stays until pop().
  Entry* await(std::chrono::nanoseconds spin) {
    // Another thread may stand in for the consumer meanwhile.
    const auto head = [this] { return head_.load(std::memory_order_relaxed); };
    const auto ready = [&] { return closed_.load() || tail_.load(std::memory_order_acquire) != head(); };
    while (!spin_until(ready, spin)) sleep(ready);
    return closed_.load() ? nullptr : &entries_[head() & (entries_.size() - 1)];
  }
  // Consumer. The oldest entry if there is one now; nullptr also once closed.
  Entry* peek() {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (closed_.load() || tail_.load(std::memory_order_acquire) == head) return nullptr;
    return &entries_[head & (entries_.size() - 1)];
  }
  void pop() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  template <class Ready>
  void sleep(Ready ready) {
    const std::uint32_t seen = bell_.load();
    asleep_.store(true);
    if (!ready() && tail_.load() == head_.load()) bell_.wait(seen);
    asleep_.store(false);
  }

  std::vector<Entry> entries_;
  alignas(64) std::atomic<std::uint32_t> tail_{0};
  std::atomic<bool> closed_{false};
  alignas(64) std::atomic<std::uint32_t> head_{0};
  std::atomic<bool> asleep_{false};
  mutable std::atomic<std::uint32_t> bell_{0};
};

}  // namespace volvox
