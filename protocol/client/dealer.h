#pragma once

#include "base/error.h"
#include "protocol/client/channel.h"
#include "protocol/sockets/connection_monitor.h"
#include "protocol/sockets/zmq_socket.h"

namespace volvox {

// Sets up a DEALER socket as the options say (queues, largest message, keys, patience) and has it connect to
// their endpoint, which `monitor` then watches; it does not wait for the connection. INVALID_ARGUMENT for an
// endpoint or a key that makes no sense. Internal to those that dial: Channel, and the coordinator of a load.
Status dial(ZmqSocket& socket, ConnectionMonitor& monitor, const ChannelOptions& options);

// Waits until the connection stands, at most so long. UNAVAILABLE, or why the server refuses it.
Status await_connection(ConnectionMonitor& monitor, const std::string& endpoint, Duration at_most);

}  // namespace volvox
