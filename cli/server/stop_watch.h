#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <spdlog/spdlog.h>

#include "actors/process/process_hooks.h"
#include "base/error.h"
#include "config/schema.h"
#include "protocol/sockets/wakeup.h"
#include "serving/stop_rule.h"

namespace volvox {

// How the process is told to end, by whom ever: SIGTERM, SIGINT or a router. Signals reach it on a thread of
// its own, and no other thread at all; serving/stop_rule.h says what they mean. Made before the first other
// thread, and before anything that makes threads; one in a process.
class StopWatch {
 public:
  explicit StopWatch(const ServerSection& config);
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  // For the server that the process runs; they must not be called after the watch has gone.
  ProcessHooks hooks();
  // How to count the requests without an answer, when the process has no time to wait for them.
  void count_with(std::function<std::size_t()> unanswered);
  // Waits until the process is to drain; why, in words.
  std::string wait();

 private:
  void run();
  void hear(StopAsker who, const std::string& why);
  int milliseconds_left() const;
  [[noreturn]] void leave(const std::string& why) const;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable asked_;
  StopRule rule_;
  std::string why_;  // empty: nobody asked
  std::function<std::size_t()> unanswered_;
  bool over_ = false;

  EventFd wakeup_;
  int signals_;  // as a descriptor
  std::thread thread_;
};

// Serves until the process is to end; then drains and ends the server. An error: requests were left without
// an answer.
template <class AnyServer>
Status run_until_stopped(StopWatch& stop, std::unique_ptr<AnyServer> server, const ServerSection& config) {
  stop.count_with([&server] { return server->unanswered(); });
  const std::string why = stop.wait();
  spdlog::info("{}: draining for at most {} ms", why, config.drain_timeout_ms);
  if (!server->drain(std::chrono::milliseconds(config.drain_timeout_ms)))
    spdlog::warn("the drain took too long; the requests left were answered UNAVAILABLE");
  const std::size_t left = server->unanswered();
  stop.count_with([left] { return left; });
  server.reset();
  spdlog::info("bye");
  if (left == 0) return {};
  return fail(ErrorCode::kInternal, std::to_string(left) + " requests were left without an answer");
}

// Says on standard error why the command failed; not for ever where nobody reads it.
void complain(const char* command, const Error& error);

}  // namespace volvox
