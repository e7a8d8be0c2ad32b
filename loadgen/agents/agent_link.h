#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/agents/load_messages.h"
#include "protocol/client/channel.h"
#include "protocol/sockets/connection_monitor.h"
#include "protocol/sockets/zmq_socket.h"

namespace volvox {

// The coordinator's connection to one agent. It is there once: an agent that was cut off stops its load by
// itself, so that a new connection would have nothing to say. One thread.
class AgentLink {
 public:
  // INVALID_ARGUMENT for an endpoint or a key that makes no sense; whether somebody is there await() tells.
  static Result<std::unique_ptr<AgentLink>> open(const std::string& endpoint, std::uint64_t run,
                                                 std::optional<ChannelKeys> keys);
  Status await(Duration at_most);

  // Without waiting for the network.
  Status send(const LoadMessage& message);
  // Appends some of what has come of this run: not all at once, for somebody may send faster than this is
  // read. The error, once there is one and all has been taken: nothing will come any more.
  Status receive(std::vector<LoadMessage>& messages);

  // Either becomes readable when something may have come, right after a receive().
  int fd() { return socket_.fd(); }
  int monitor_fd() { return monitor_.fd(); }

 private:
  explicit AgentLink(std::uint64_t run) : run_(run), socket_(context_, ZMQ_DEALER), monitor_(context_) {}
  Result<bool> receive_one(std::vector<LoadMessage>& messages);

  const std::uint64_t run_;
  std::string endpoint_;
  ZmqContext context_;
  ZmqSocket socket_;
  ConnectionMonitor monitor_;
  bool lost_ = false;
};

}  // namespace volvox
