#include "protocol/sockets/connection_monitor.h"

#include <cerrno>
#include <cstring>
#include <string>

namespace volvox {
namespace {

constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

}  // namespace

Error no_server_answers(const std::string& endpoint, Duration time, bool turned_away) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time);
  std::string message =
      "no server answers at '" + endpoint + "' within " + std::to_string(ms.count()) + " ms; ";
  message += turned_away
                 ? "it closes connections at once: has it room for more, and is it a server of Volvox?"
                 : "check the address and that it is running";
  return {ErrorCode::kUnavailable, std::move(message)};
}

Status ConnectionMonitor::watch(ZmqSocket& socket, bool keys) {
  keys_ = keys;
  // The context is this channel's own, so one name is enough.
  const std::string endpoint = "inproc://connection-monitor";
  if (zmq_socket_monitor(socket.handle(), endpoint.c_str(), kEvents) != 0) {
    return fail(ErrorCode::kUnavailable, "cannot watch the connection: " + zmq_error_text(errno));
  }
  return events_.connect(endpoint);
}

bool ConnectionMonitor::poll() {
  bool lost = false;
  ZmqFrame event, address;
  while (event.receive(events_.handle()) == 0) {
    std::uint16_t number = 0;
    std::uint32_t value = 0;  // of a failed handshake: which rule was broken
    if (const auto bytes = event.bytes(); bytes.size() >= sizeof(number) + sizeof(value)) {
      std::memcpy(&number, bytes.data(), sizeof(number));
      std::memcpy(&value, bytes.data() + sizeof(number), sizeof(value));
    }
    if (event.more()) address.receive(events_.handle());
    take(number, value);
    lost = lost || number == ZMQ_EVENT_DISCONNECTED;
  }
  return lost;
}

void ConnectionMonitor::take(std::uint16_t event, std::uint32_t value) {
  connected_ = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  if (connected_) turned_away_ = false;
  switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      ++connects_;
      refusal_ = {};
      break;
    case ZMQ_EVENT_DISCONNECTED:
      ++disconnects_;
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      refusal_ = fail(ErrorCode::kUnauthenticated,
                      "the server does not know this client's key; have its public key added there");
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      turned_away_ = true;
      if (keys_)
        refusal_ =
            fail(ErrorCode::kUnauthenticated,
                 "the server closes the connection without a word: is its key the one that was given, and "
                 "has it room for more connections?");
      break;
    default:
      if (value != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH &&
          value != ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC) {
        refusal_ = fail(ErrorCode::kUnavailable,
                        "what answers there does not speak Volvox's protocol; is it the address of "
                        "server.listen, and not that of HTTP or the monitoring?");
        break;
      }
      refusal_ = fail(ErrorCode::kUnauthenticated,
                      "the server and this client do not agree on encryption; give the keys that the server "
                      "wants, or none if it has none");
  }
}

}  // namespace volvox
