#include "actors/process/memory_return.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace volvox {
namespace {

void return_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace

MemoryReturn::MemoryReturn(Duration every) {
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
  while (!changed_.wait_for(lock, every, [this] { return stopping_; })) {
    lock.unlock();
    return_memory();
    lock.lock();
  }
}

}  // namespace volvox
