#pragma once

#include <initializer_list>

#include "base/time.h"

namespace volvox {

// A thread that sleeps on sockets must be woken by threads that have none: a descriptor that becomes readable
// by signal(). signal() may be called by any thread; clear() by the one that sleeps. Owns the descriptor.
class EventFd {
 public:
  EventFd();
  ~EventFd();
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;

  // −1 if the process is out of descriptors; then signal() and clear() do nothing.
  int fd() const { return fd_; }
  void signal();
  void clear();

 private:
  int fd_;
};

// Sleeps until one of the descriptors is readable or the time is over (Duration::max(): never). Negative ones
// are ignored. Bit i of the answer: descriptor i is readable. Nanosecond resolution, as far as the kernel's
// timer goes.
unsigned wait_readable(std::initializer_list<int> descriptors, Duration timeout);

}  // namespace volvox
