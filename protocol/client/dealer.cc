#include "protocol/client/dealer.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "protocol/sockets/wakeup.h"

namespace volvox {
namespace {

// A host that swallows what is sent to it is dialled anew after so long: the kernel's own patience is
// minutes.
constexpr Duration kDialTime = std::chrono::seconds(2);

Status encrypt(ZmqSocket& socket, const ChannelKeys& keys) {
  const std::pair<int, const std::string*> settings[] = {
      {ZMQ_CURVE_SERVERKEY, &keys.server},
      {ZMQ_CURVE_PUBLICKEY, &keys.client.public_key},
      {ZMQ_CURVE_SECRETKEY, &keys.client.secret_key},
  };
  for (const auto& [option, value] : settings) {
    if (!socket.set_text(option, *value)) return invalid("a key is not valid; it is 40 characters of Z85");
  }
  return {};
}

}  // namespace

Status dial(ZmqSocket& socket, ConnectionMonitor& monitor, const ChannelOptions& options) {
  if (socket.handle() == nullptr) return fail(ErrorCode::kUnavailable, "out of file descriptors");
  const std::pair<int, int> settings[] = {
      {ZMQ_SNDHWM, options.send_queue},
      {ZMQ_RCVHWM, options.receive_queue},
      {ZMQ_LINGER, socket_milliseconds(options.linger)},
      {ZMQ_CONNECT_TIMEOUT, socket_milliseconds(kDialTime)},
  };
  for (const auto& [option, value] : settings) {
    if (auto ok = socket.set(option, value); !ok) return ok;
  }
  if (auto ok = socket.detect_dead_peers(options.dead_after); !ok) return ok;
  const auto largest = std::max(options.limits.max_header_bytes, options.limits.max_body_bytes);
  if (auto ok = socket.set64(ZMQ_MAXMSGSIZE, static_cast<long long>(largest)); !ok) return ok;
  if (options.keys) {
    if (auto ok = encrypt(socket, *options.keys); !ok) return ok;
  }
  if (auto ok = monitor.watch(socket, options.keys.has_value()); !ok) return ok;
  if (options.endpoint.find("://") == std::string::npos)
    return invalid("'" + options.endpoint + "' is no endpoint; write tcp://HOST:PORT or ipc://PATH");
  if (auto ok = socket.connect(options.endpoint); !ok) return invalid(ok.error().message);
  return {};
}

Status await_connection(ConnectionMonitor& monitor, const std::string& endpoint, Duration at_most) {
  const TimePoint until = later(steady_now(), at_most);
  for (TimePoint now = steady_now();; now = steady_now()) {
    monitor.poll();
    if (monitor.connected()) return {};
    if (!monitor.refusal()) return monitor.refusal();
    if (now >= until) break;
    wait_readable({monitor.fd()}, until - now);
  }
  return tl::unexpected(no_server_answers(endpoint, at_most, monitor.turned_away()));
}

}  // namespace volvox
