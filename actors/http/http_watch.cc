#include "actors/http/http_watch.h"

#include <chrono>
#include <utility>

#include <sys/socket.h>

#include "actors/work/work.h"
#include "base/clock.h"

namespace volvox {
namespace {

constexpr Duration kRound = std::chrono::milliseconds(100);  // how exactly limits are kept
constexpr Duration kLastWords = std::chrono::seconds(2);     // for the answer that tells a client it was slow

}  // namespace

HttpWatch::HttpWatch(HttpMetrics& metrics, std::function<void(TimePoint)> each_round)
    : metrics_(metrics), each_round_(std::move(each_round)), thread_([this] { run(); }) {}

HttpWatch::~HttpWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

HttpWatch::Guard::Guard(HttpWatch& watch, PeerAddress peer) : watch_(watch) {
  const std::lock_guard lock(watch_.mutex_);
  id_ = watch_.next_++;
  watch_.exchanges_.emplace(id_, Exchange{std::move(peer), TimePoint::max(), false});
}

HttpWatch::Guard::~Guard() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.exchanges_.erase(id_);
  if (watch_.exchanges_.empty()) watch_.changed_.notify_all();
}

void HttpWatch::set_limit(std::uint64_t id, TimePoint until, bool sends) {
  const std::lock_guard lock(mutex_);
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  found->second.until = until;
  found->second.sends = sends;
}

bool HttpWatch::wait_until_idle(Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return exchanges_.empty(); });
}

void HttpWatch::cut_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, exchange] : exchanges_) exchange.sends = false;
  cut_until(TimePoint::max());
}

void HttpWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, kRound);
    const TimePoint now = steady_now();
    cut_until(now);
    if (!each_round_) continue;
    lock.unlock();
    each_round_(now);
    lock.lock();
  }
}

// Under the lock, so that no guard ends, and no connection with it, while its descriptor is used.
void HttpWatch::cut_until(TimePoint now) {
  std::size_t cut = 0;
  for (auto& [id, exchange] : exchanges_) {
    if (exchange.until > now) continue;
    const bool sends = std::exchange(exchange.sends, false);
    exchange.until =
        sends ? now + kLastWords : TimePoint::max();  // one that goes on sending is cut off for good
    const int fd = sockets_.find(exchange.peer);
    if (fd >= 0 && shutdown(fd, sends ? SHUT_RD : SHUT_RDWR) == 0) ++cut;
  }
  if (cut > 0) metrics_.cut(cut);
}

}  // namespace volvox
