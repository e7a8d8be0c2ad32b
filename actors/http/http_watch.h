#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "actors/http/peer_socket.h"
#include "base/time.h"
#include "monitoring/metrics/http_metrics.h"

namespace volvox {

// A client may send a byte a second, or read one, and each holds a thread meanwhile. The watch knows every
// exchange and until when its client may take; it cuts the connection of one that takes longer, which ends
// the thread's reading or writing at once. All calls from any thread.
class HttpWatch {
 public:
  // `each_round` is called every now and then, for those who have no thread of their own.
  explicit HttpWatch(HttpMetrics& metrics, std::function<void(TimePoint)> each_round = {});
  ~HttpWatch();
  HttpWatch(const HttpWatch&) = delete;
  HttpWatch& operator=(const HttpWatch&) = delete;

  // One exchange, watched while this lives. It must end before its connection is closed.
  class Guard {
   public:
    Guard(HttpWatch& watch, PeerAddress peer);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    // The client is to send until then; what it would send later is not read any more, but it can be
    // answered.
    void limit_sending(TimePoint until) { watch_.set_limit(id_, until, true); }
    // The client is to read until then.
    void limit_reading(TimePoint until) { watch_.set_limit(id_, until, false); }
    // It is our turn: it may take as long as it takes.
    void lift() { watch_.set_limit(id_, TimePoint::max(), false); }

   private:
    HttpWatch& watch_;
    std::uint64_t id_;
  };

  SocketFinder& sockets() { return sockets_; }

  // Waits until there is no exchange. False: it took too long.
  bool wait_until_idle(Duration timeout);
  // Cuts all there are.
  void cut_all();

 private:
  struct Exchange {
    PeerAddress peer;
    TimePoint until;
    bool sends = false;  // until then; otherwise it reads
  };

  void set_limit(std::uint64_t id, TimePoint until, bool sends);
  void run();
  void cut_until(TimePoint now);

  HttpMetrics& metrics_;
  const std::function<void(TimePoint)> each_round_;
  SocketFinder sockets_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Exchange> exchanges_;
  std::uint64_t next_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace volvox
