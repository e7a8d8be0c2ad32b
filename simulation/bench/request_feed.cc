#include "simulation/bench/request_feed.h"

#include <chrono>
#include <utility>

#include <pthread.h>

#include "base/cpu_time.h"
#include "base/spin.h"
#include "shapes/random.h"

namespace volvox::bench {
namespace {

constexpr std::chrono::microseconds kNap{50}, kSpin{2};

}  // namespace

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
  SeededRandom chance(seed);
  while (!ending_.load() && !failed_.load()) {
    bool moved = false;
    for (Memory* gone = done_.peek(); gone != nullptr; gone = done_.peek()) {
      *gone = {};
      done_.pop();
      moved = true;
    }
    moved = make_next(chance.below(setup_.samples())) || moved;
    if (!moved) std::this_thread::sleep_for(kNap);
  }
  cpu_ns_at_end_.store(volvox::thread_cpu_ns());
}

// False: there is no room now, or it never can be made.
bool RequestFeed::make_next(std::size_t sample) {
  Ready* next = ready_.next_free();
  if (next == nullptr) return false;
  auto made = make(sample);
  if (made) {
    *next = std::move(*made);
    ready_.push_quietly();
  } else if (made.error().code != ErrorCode::kOverloaded) {
    error_ = made.error();
    failed_.store(true);
  }
  return made.has_value();
}

Result<RequestFeed::Ready> RequestFeed::take() {
  Ready* next = ready_.peek();
  if (next == nullptr) {
    const std::uint64_t begin = volvox::thread_cpu_ns();
    while (!spin_until([&] { return (next = ready_.peek()) != nullptr; }, kSpin)) {
      if (failed_.load()) return tl::unexpected(error_);
      std::this_thread::yield();
    }
    waiting_cpu_ns_ += volvox::thread_cpu_ns() - begin;
  }
  Ready ready = std::move(*next);
  ready_.pop();
  return ready;
}

std::uint64_t RequestFeed::thread_cpu_ns() {
  const std::uint64_t at_end = cpu_ns_at_end_.load();
  clockid_t clock{};
  return at_end == 0 && ::pthread_getcpuclockid(thread_.native_handle(), &clock) == 0 ? cpu_ns(clock)
                                                                                      : at_end;
}

void RequestFeed::give_back(Memory memory) {
  Memory* place = done_.next_free();
  if (place == nullptr) return;  // it goes here
  *place = std::move(memory);
  done_.push_quietly();
}

}  // namespace volvox::bench
