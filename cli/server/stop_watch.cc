#include "cli/server/stop_watch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitoring/log/logging.h"

namespace volvox {
namespace {

constexpr Duration kLastWords = std::chrono::milliseconds(200);

// A hang-up is a stop, too: of a terminal that closes, or of a supervisor. Not for who was started to survive
// it (nohup), which a blocked signal would not show.
sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  struct sigaction hang_up {};
  if (::sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN)
    sigaddset(&signals, SIGHUP);
  return signals;
}

// All threads from now on inherit the mask.
int block_signals() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int fd = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot listen for signals");
  return fd;
}

Duration longest(const ServerSection& config) {
  return std::chrono::milliseconds(std::uint64_t{config.drain_timeout_ms} + config.stop_timeout_ms);
}

}  // namespace

StopWatch::StopWatch(const ServerSection& config)
    : rule_(longest(config)), signals_(block_signals()), thread_([this] { run(); }) {}

StopWatch::~StopWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wakeup_.signal();
  thread_.join();
  ::close(signals_);
}

ProcessHooks StopWatch::hooks() {
  ProcessHooks hooks;
  hooks.opens = [this] {
    const std::lock_guard lock(mutex_);
    rule_.open();
  };
  hooks.asks_to_end = [this](const std::string& why) { hear(StopAsker::kOrder, why); };
  return hooks;
}

void StopWatch::count_with(std::function<std::size_t()> unanswered) {
  const std::lock_guard lock(mutex_);
  unanswered_ = std::move(unanswered);
}

std::string StopWatch::wait() {
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [this] { return !why_.empty(); });
  return why_;
}

void StopWatch::run() {
  for (;;) {
    pollfd polled[] = {{signals_, POLLIN, 0}, {wakeup_.fd(), POLLIN, 0}};
    ::poll(polled, 2, milliseconds_left());
    wakeup_.clear();
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == sizeof signal)
      hear(StopAsker::kSignal, "signal " + std::to_string(signal.ssi_signo));
    const std::lock_guard lock(mutex_);
    if (over_) return;
    if (rule_.deadline() && steady_now() >= *rule_.deadline()) leave("stopping took too long");
  }
}

void StopWatch::hear(StopAsker who, const std::string& why) {
  const std::lock_guard lock(mutex_);
  switch (rule_.hear(who, steady_now())) {
    case StopStep::kNone:
      return;
    case StopStep::kLeave:
      leave(why_.empty() ? why : "a second " + why);
    case StopStep::kDrain:
      why_ = why;
      asked_.notify_all();
      wakeup_.signal();  // there is a deadline now
  }
}

int StopWatch::milliseconds_left() const {
  const std::lock_guard lock(mutex_);
  if (!rule_.deadline()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*rule_.deadline() - steady_now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

void StopWatch::leave(const std::string& why) const {
  const std::size_t left = unanswered_ ? unanswered_() : 0;
  spdlog::warn("{}: leaving at once, with {} requests unanswered", why, left);
  flush_log(kLastWords);
  _exit(left == 0 ? 0 : 1);
}

void complain(const char* command, const Error& error) {
  flush_log(kLastWords);
  pollfd polled{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&polled, 1, 1000) == 1)
    std::fprintf(stderr, "volvox %s: %s\n", command, to_string(error).c_str());
}

}  // namespace volvox
