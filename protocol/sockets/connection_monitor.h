#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "protocol/sockets/zmq_socket.h"

namespace volvox {

// UNAVAILABLE: no connection stood in time. `turned_away`: the server closed those that there were.
Error no_server_answers(const std::string& endpoint, Duration time, bool turned_away);

// ZeroMQ hides that a connection broke: requests that were on it would wait for ever. This listens to the
// events of one socket. Internal to Channel; the thread of that socket.
class ConnectionMonitor {
 public:
  explicit ConnectionMonitor(ZmqContext& context) : events_(context, ZMQ_PAIR) {}

  // Call before the watched socket connects. `keys`: it has some.
  Status watch(ZmqSocket& socket, bool keys);

  // Reads what has happened; true if the connection was lost since the last call.
  bool poll();

  int fd() { return events_.fd(); }
  bool connected() const { return connected_; }
  // Why the server last refused the connection; UNAVAILABLE or UNAUTHENTICATED. No error if it did not.
  const Status& refusal() const { return refusal_; }
  // The server last closed the connection without a word, as one does that has no room for more: it is tried
  // again. With keys that is a refusal, for a server that cannot read this client's first message says
  // nothing.
  bool turned_away() const { return turned_away_; }
  std::uint64_t connects() const { return connects_; }
  std::uint64_t disconnects() const { return disconnects_; }

 private:
  ZmqSocket events_;
  void take(std::uint16_t event, std::uint32_t value);

  bool keys_ = false, connected_ = false, turned_away_ = false;
  Status refusal_;
  std::uint64_t connects_ = 0;
  std::uint64_t disconnects_ = 0;
};

}  // namespace volvox
