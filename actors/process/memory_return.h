#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace volvox {

// What requests in flight have used comes and goes by the burst, a hundred times what is used between where a
// server was held up; and the allocator keeps it, for what lies last in an arena keeps all that is free
// before it. This gives back to the system what is free, every now and then, on a thread of its own. Each
// arena is locked meanwhile, for about a millisecond where there is much to give back.
class MemoryReturn {
 public:
  // Zero: never.
  explicit MemoryReturn(Duration every);
  ~MemoryReturn();
  MemoryReturn(const MemoryReturn&) = delete;
  MemoryReturn& operator=(const MemoryReturn&) = delete;

 private:
  void run(Duration every);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace volvox
