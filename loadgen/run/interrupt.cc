#include "loadgen/run/interrupt.h"

#include <ctime>

#include <pthread.h>

namespace volvox {

InterruptWatch::InterruptWatch() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::jthread([this](const std::stop_token& ended) { watch(ended); });
}

InterruptWatch::~InterruptWatch() {
  thread_.request_stop();
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void InterruptWatch::watch(const std::stop_token& ended) {
  const timespec look{0, 50'000'000};
  while (!ended.stop_requested()) {
    const int signal = sigtimedwait(&signals_, nullptr, &look);
    if (signal <= 0) continue;
    if (interrupted_.request_stop()) continue;
    // The second one: as if nobody had caught it. A library that has a terminal to give back may catch it.
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    raise(signal);
  }
}

}  // namespace volvox
