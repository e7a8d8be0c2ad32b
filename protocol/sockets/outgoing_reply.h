#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "protocol/buffer.h"
#include "protocol/sockets/frame_hold.h"

namespace volvox {

// ZeroMQ's name for one connection of one client: opaque bytes, new after every reconnect.
using ClientId = std::string;

struct ReplyFrames;  // edge_socket.cc

// A reply on its way out: two frames for one client.
struct OutgoingReply {
  ClientId client;
  WireBuffer header;
  WireBuffer body;                        // empty with an error or a pong
  std::unique_ptr<FrameHold> held{};      // its share of the memory for replies; the edge's own affair
  std::shared_ptr<ReplyFrames> frames{};  // all three, where it has to wait for room; likewise

  // Before it has frames.
  std::size_t bytes() const { return header.size() + body.size(); }
};

}  // namespace volvox
