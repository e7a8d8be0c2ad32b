#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "protocol/curve/curve_clients.h"
#include "protocol/curve/curve_keys.h"
#include "protocol/sockets/zmq_socket.h"

namespace volvox {

// A connection that was not let in.
struct RefusedClient {
  std::string address;  // empty where ZeroMQ does not tell
  std::string reason;
};

// Whoever can reach a port can speak on it, unless somebody looks. This encrypts a listening socket and lets
// in only clients with a known key: it answers ZeroMQ's question about each of them (ZAP, RFC 27) on a thread
// of its own, and keeps count of those that were refused, also of those that do not even encrypt. One for
// each context; outlives the socket, but not the context. refused() and take_refused(): any thread.
class CurveGuard {
 public:
  // Call before the socket binds.
  static Result<std::unique_ptr<CurveGuard>> protect(ZmqContext& context, ZmqSocket& socket,
                                                     const CurveKeys& server, CurveClients clients);
  ~CurveGuard();
  CurveGuard(const CurveGuard&) = delete;
  CurveGuard& operator=(const CurveGuard&) = delete;

  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  // Those refused since the last call; the latest ones where there were many.
  std::vector<RefusedClient> take_refused();
  // Why the clients' keys cannot be read; empty: they can. Any thread.
  std::string trouble() const;
  // Changes when trouble() does.
  std::uint64_t troubles() const { return troubles_.load(std::memory_order_acquire); }

 private:
  CurveGuard(ZmqContext& context, CurveClients clients);
  Status open(ZmqSocket& socket, const CurveKeys& server);
  void run();
  void answer_question();
  void hear_of_failures();
  void refuse(RefusedClient client);
  void look_at_keys();
  void tell_of_trouble();

  ZmqSocket questions_, failures_;
  CurveClients clients_;  // the guard's thread
  TimePoint looked_{};    // likewise
  mutable std::mutex mutex_;
  std::vector<RefusedClient> latest_;
  std::string trouble_;
  std::atomic<std::uint64_t> troubles_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace volvox
