#include "actors/process/memory_return.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/heap.h"

namespace volvox {
namespace {

// In so long whoever has an arena of its own frees something. It is short beside the time between two
// returns: what comes and goes meanwhile is paid for page by page.
constexpr Duration kGivenUp = std::chrono::milliseconds(10);

}  // namespace

Duration until_next_return(Duration every, Duration took) {
  constexpr int kShare = 200;
  return std::max(every, kShare * took);
}

MemoryReturn::MemoryReturn(Duration every) {
  keep_freed_memory();
  if (every > Duration::zero()) thread_ = std::thread([this, every] { run(every); });
}

MemoryReturn::~MemoryReturn() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void MemoryReturn::run(Duration every) {
  std::unique_lock lock(mutex_);
  for (Duration wait = every; !changed_.wait_for(lock, wait, [this] { return stopping_; });) {
    lock.unlock();
    const TimePoint begin = steady_now();
    give_up_freed_memory();
    return_freed_memory();
    wait = until_next_return(every, steady_now() - begin);
    lock.lock();
    changed_.wait_for(lock, kGivenUp, [this] { return stopping_; });
    keep_freed_memory();
  }
}

}  // namespace volvox
