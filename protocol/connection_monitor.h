#pragma once

#include <cstdint>

#include "base/error.h"
#include "protocol/zmq_socket.h"

namespace volvox {

// ZeroMQ hides that a connection broke: requests that were on it would wait for ever. This listens to the
// events of one socket. Internal to Channel; the thread of that socket.
class ConnectionMonitor {
 public:
  explicit ConnectionMonitor(ZmqContext& context) : events_(context, ZMQ_PAIR) {}

  // Call before the watched socket connects.
  Status watch(ZmqSocket& socket);

  // Reads what has happened; true if the connection was lost since the last call.
  bool poll();

  int fd() { return events_.fd(); }
  bool connected() const { return connected_; }
  // Why the server last refused the connection; UNAVAILABLE or UNAUTHENTICATED. No error if it did not.
  const Status& refusal() const { return refusal_; }
  std::uint64_t connects() const { return connects_; }
  std::uint64_t disconnects() const { return disconnects_; }

 private:
  ZmqSocket events_;
  void take(std::uint16_t event);

  bool connected_ = false;
  Status refusal_;
  std::uint64_t connects_ = 0;
  std::uint64_t disconnects_ = 0;
};

}  // namespace volvox
