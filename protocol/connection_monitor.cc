#include "protocol/connection_monitor.h"

#include <cerrno>
#include <cstring>
#include <string>

namespace volvox {

Status ConnectionMonitor::watch(ZmqSocket& socket) {
  // The context is this channel's own, so one name is enough.
  const std::string endpoint = "inproc://connection-monitor";
  if (zmq_socket_monitor(socket.handle(), endpoint.c_str(),
                         ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0) {
    return fail(ErrorCode::kUnavailable, "cannot watch the connection: " + zmq_error_text(errno));
  }
  return events_.connect(endpoint);
}

bool ConnectionMonitor::poll() {
  bool lost = false;
  ZmqFrame event, address;
  while (event.receive(events_.handle()) == 0) {
    std::uint16_t number = 0;
    if (event.bytes().size() >= sizeof(number)) std::memcpy(&number, event.bytes().data(), sizeof(number));
    if (event.more()) address.receive(events_.handle());
    connected_ = number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    if (connected_) {
      ++connects_;
    } else {
      ++disconnects_;
      lost = true;
    }
  }
  return lost;
}

}  // namespace volvox
