#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace volvox {

// How long to wait after a return that took so long, in which whoever needed memory may have stood still. So
// it takes half a percent of the time at most, however much there is to give back, and however slowly it
// goes.
Duration until_next_return(Duration every, Duration took);

// What requests in flight have used comes and goes by the burst, a hundred times what is used between where a
// server was held up. The allocator keeps it, so that the next burst finds it (base/heap.h), and this gives
// back to the system what is free, every now and then, on a thread of its own.
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
