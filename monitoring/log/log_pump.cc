#include "monitoring/log/log_pump.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace volvox {
namespace {

constexpr Duration kLastLines = std::chrono::milliseconds(500);
constexpr int kLookMs = 100;  // for the end, while nobody reads

}  // namespace

struct LogPump::State {
  int fd = -1;
  std::size_t limit = 0;
  std::function<std::string(std::uint64_t)> gap;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  bool writing = false;  // a line that is in no list
  bool ending = false, ended = false;
  std::uint64_t dropped = 0, told = 0;

  // The next line, or how many are missing before it; empty at the end.
  std::string next() {
    std::unique_lock lock(mutex);
    writing = false;
    changed.notify_all();
    changed.wait(lock, [this] { return ending || !lines.empty() || dropped != told; });
    if (dropped == told && lines.empty()) return {};
    writing = true;
    if (dropped != told) return gap(dropped - std::exchange(told, dropped));
    std::string line = std::move(lines.front());
    lines.pop_front();
    return line;
  }

  // A pipe that is ready takes this much without a wait.
  bool write(std::string_view text) {
    while (!text.empty()) {
      pollfd polled{fd, POLLOUT, 0};
      const int ready = ::poll(&polled, 1, kLookMs);
      if (ready <= 0) {
        const std::lock_guard lock(mutex);
        if (ending) return false;
        continue;
      }
      const ssize_t written = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
      if (written < 0 && errno != EINTR && errno != EAGAIN) return true;  // nobody will ever read it
      text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return true;
  }

  void run() {
    for (std::string line = next(); !line.empty() && write(line);) line = next();
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }
};

LogPump::LogPump(int fd, std::size_t lines, std::function<std::string(std::uint64_t)> gap)
    : state_(std::make_shared<State>()) {
  state_->fd = fd;
  state_->limit = lines;
  state_->gap = std::move(gap);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread([state = state_] { state->run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogPump::~LogPump() {
  flush(kLastLines);
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kLastLines, [this] { return state_->ended; });
}

void LogPump::push(std::string line) {
  if (line.empty()) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->lines.size() >= state_->limit) {
    state_->lines.pop_front();
    ++state_->dropped;
  }
  state_->lines.push_back(std::move(line));
  state_->changed.notify_all();
}

bool LogPump::flush(Duration at_most) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, at_most, [this] {
    return state_->ended || (state_->lines.empty() && !state_->writing && state_->dropped == state_->told);
  });
}

std::uint64_t LogPump::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

}  // namespace volvox
