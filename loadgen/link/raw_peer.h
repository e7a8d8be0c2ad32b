#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace volvox {

// A client that misbehaves must be able to: ZeroMQ reads what comes whether it is asked for or not, and
// closes politely. This speaks just enough of ZMTP 3.0 (a DEALER, in plain text) over a bare TCP socket to
// send requests; after the handshake it reads nothing, and may be dropped at any moment. One thread.
class RawPeer {
 public:
  RawPeer() = default;
  ~RawPeer() { vanish(); }
  RawPeer(RawPeer&& other) noexcept;
  RawPeer& operator=(RawPeer&& other) noexcept;

  // UNAVAILABLE if nobody listens there, "tcp://HOST:PORT", or not to a client without a key. Waits for the
  // handshake.
  static Result<RawPeer> connect(const std::string& endpoint);

  // Sends one message of two frames without waiting: false when the connection takes no more, or is gone.
  bool send(std::span<const std::byte> header, std::span<const std::byte> body);
  // Cuts the connection without a word of farewell: the kernel tells the server by a reset.
  void vanish();

 private:
  explicit RawPeer(int fd) : fd_(fd) {}
  bool flush();

  int fd_ = -1;
  std::vector<std::byte> unsent_;
};

}  // namespace volvox
