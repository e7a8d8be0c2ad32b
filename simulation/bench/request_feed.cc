#include "simulation/bench/request_feed.h"

#include <chrono>
#include <utility>

#include <pthread.h>

#include "base/cpu_time.h"
#include "base/spin.h"
#include "simulation/chance.h"

namespace volvox::bench {
namespace {

constexpr std::chrono::microseconds kNap{50}, kSpin{2};

}  // namespace

template <class T>
bool RequestFeed::Ring<T>::push(T& thing) {
  const std::uint64_t number = written_.load(std::memory_order_relaxed);
  if (number - read_.load(std::memory_order_acquire) == kSlots) return false;
  slots_[number % kSlots] = std::move(thing);
  written_.store(number + 1, std::memory_order_release);
  return true;
}

template <class T>
bool RequestFeed::Ring<T>::empty() const {
  return read_.load(std::memory_order_relaxed) == written_.load(std::memory_order_acquire);
}

template <class T>
bool RequestFeed::Ring<T>::pop(T& thing) {
  const std::uint64_t number = read_.load(std::memory_order_relaxed);
  if (number == written_.load(std::memory_order_acquire)) return false;
  thing = std::move(slots_[number % kSlots]);
  read_.store(number + 1, std::memory_order_release);
  return true;
}

RequestFeed::RequestFeed(EngineSetup& setup, std::uint64_t seed)
    : setup_(setup), thread_([this, seed] { serve(seed); }) {}

RequestFeed::~RequestFeed() {
  ending_.store(true);
  thread_.join();
}

Result<RequestFeed::Ready> RequestFeed::make(std::size_t sample) {
  Ready ready;
  ready.sample = sample;
  auto inputs = setup_.bring(sample);
  if (!inputs) return tl::unexpected(inputs.error());
  auto results = setup_.results();
  if (!results) return tl::unexpected(results.error());
  auto request = setup_.request(sample, **inputs, results->address);
  if (!request) return tl::unexpected(request.error());
  ready.memory = {std::move(*results), std::move(*inputs)};
  ready.request = std::move(*request);
  return ready;
}

void RequestFeed::serve(std::uint64_t seed) {
  Chance chance(seed);
  Memory gone;
  Ready next;
  bool made = false;  // `next` has no room yet
  while (!ending_.load() && !failed_.load()) {
    bool moved = false;
    while (done_.pop(gone)) {
      gone = {};
      moved = true;
    }
    if (!made) made = make_next(chance.below(setup_.samples()), next);
    if (made && ready_.push(next)) {
      made = false;
      moved = true;
    }
    if (!moved) std::this_thread::sleep_for(kNap);
  }
  cpu_ns_at_end_.store(volvox::thread_cpu_ns());
}

// False: there is no memory now, or never will be.
bool RequestFeed::make_next(std::size_t sample, Ready& next) {
  auto made = make(sample);
  if (made) {
    next = std::move(*made);
  } else if (made.error().code != ErrorCode::kOverloaded) {
    error_ = made.error();
    failed_.store(true);
  }
  return made.has_value();
}

Result<RequestFeed::Ready> RequestFeed::take() {
  Ready ready;
  if (ready_.pop(ready)) return ready;
  const std::uint64_t begin = volvox::thread_cpu_ns();
  while (!ready_.pop(ready)) {
    if (failed_.load()) return tl::unexpected(error_);
    (void)spin_until([&] { return !ready_.empty(); }, kSpin);
    std::this_thread::yield();
  }
  waiting_cpu_ns_ += volvox::thread_cpu_ns() - begin;
  return ready;
}

std::uint64_t RequestFeed::thread_cpu_ns() {
  const std::uint64_t at_end = cpu_ns_at_end_.load();
  clockid_t clock{};
  return at_end == 0 && ::pthread_getcpuclockid(thread_.native_handle(), &clock) == 0 ? cpu_ns(clock)
                                                                                      : at_end;
}

void RequestFeed::give_back(Memory memory) {
  (void)done_.push(memory);  // where that is full it goes here
}

}  // namespace volvox::bench
