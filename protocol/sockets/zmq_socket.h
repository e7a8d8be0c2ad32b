#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <zmq.h>

#include "base/error.h"
#include "base/time.h"
#include "protocol/buffer.h"
#include "protocol/sockets/frame_hold.h"

namespace volvox {

// ZeroMQ's handles with owners, and its errors as values. Internal to the two ends of a connection.

// A context and its threads; outlives its sockets. Destruction waits for them to linger.
class ZmqContext {
 public:
  ZmqContext() : context_(zmq_ctx_new()) {}
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  void* handle() { return context_; }

 private:
  void* context_;
};

// A span as options of sockets take it.
inline int socket_milliseconds(Duration span) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

// One frame. Received bytes stay valid until the next receive(), keep() or destruction.
class ZmqFrame {
 public:
  ZmqFrame() { zmq_msg_init(&message_); }
  // Takes the memory over, and keeps `until_freed` for as long as ZeroMQ keeps the memory; it is destroyed
  // on any thread. These throw std::bad_alloc where memory is short: no frame is sent empty instead, for
  // whoever waits for it would wait for ever. The buffer then stays the caller's.
  explicit ZmqFrame(WireBuffer&& buffer, std::unique_ptr<FrameHold> until_freed = nullptr);
  explicit ZmqFrame(std::span<const std::byte> copy);
  ~ZmqFrame() { zmq_msg_close(&message_); }
  // An empty frame is left.
  ZmqFrame(ZmqFrame&& from) noexcept : ZmqFrame() { zmq_msg_move(&message_, &from.message_); }
  ZmqFrame(const ZmqFrame&) = delete;
  ZmqFrame& operator=(const ZmqFrame&) = delete;

  std::span<const std::byte> bytes() {
    return {static_cast<const std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }
  bool more() const { return zmq_msg_more(&message_) != 0; }
  // What ZeroMQ knows of the connection that a received frame came by ("User-Id"); empty if nothing. As
  // bytes().
  std::string_view property(const char* name) const;

  // The received bytes, to be kept and read in place, at least 8-byte aligned; by any thread, also after the
  // socket is gone. Many are kept where ZeroMQ has put them, and the frame is empty afterwards; few, which
  // may share their memory with other messages, are copied. Throws std::bad_alloc.
  std::shared_ptr<const WireBuffer> keep();

  // 0, or the error number. Never blocks: EAGAIN where it would have to. A sent frame is empty afterwards.
  int send(void* socket, bool more);
  int receive(void* socket);

 private:
  zmq_msg_t message_;
};

// A socket; one thread at a time. Closing never waits.
class ZmqSocket {
 public:
  ZmqSocket(ZmqContext& context, int type) : socket_(zmq_socket(context.handle(), type)) {}
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  void* handle() { return socket_; }
  Status set(int option, int value);
  Status set64(int option, long long value);
  Status set_text(int option, const std::string& value);
  Status set_bytes(int option, std::span<const std::byte> value);

  // Lets the kernel notice that a peer's host is gone: idle connections are probed, unacknowledged data is
  // given up on. For connections made afterwards. (ZeroMQ's own heartbeats would cut off a connection that is
  // not read for a while, since its queue is full: the beats wait behind the rest.)
  Status detect_dead_peers(Duration after);

  Status bind(const std::string& endpoint);
  Status connect(const std::string& endpoint);
  // Forgets what waits to be sent to where it connects to, and connects anew. What has come must have been
  // received.
  void connect_anew(const std::string& endpoint);
  std::string last_endpoint();

  // Becomes readable when something may have changed. Sleep on it only right after a receive() said EAGAIN.
  int fd();

 private:
  void* socket_;
};

// ZeroMQ's words for the current errno, or for a given one.
std::string zmq_error_text(int error);

}  // namespace volvox
