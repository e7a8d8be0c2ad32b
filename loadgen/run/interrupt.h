#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace volvox {

// Ctrl-C during a long load should end it early with a report of what was measured, not throw everything
// away. While one of these lives, the first SIGINT or SIGTERM is a stop request; a second one ends the
// process as usual. Make it before any other thread, which inherits that it does not take the signals itself;
// one at a time in a process.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  std::stop_token token() const { return interrupted_.get_token(); }

 private:
  void watch(const std::stop_token& ended);

  sigset_t signals_{};
  sigset_t before_{};
  std::stop_source interrupted_;
  std::jthread thread_;
};

}  // namespace volvox
