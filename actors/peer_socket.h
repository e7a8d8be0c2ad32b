#pragma once

#include <cstdint>
#include <string>

namespace volvox {

// One connection of this process, by its two ends.
struct PeerAddress {
  std::string host;  // numeric
  std::uint16_t port = 0;
  std::uint16_t local_port = 0;

  bool operator==(const PeerAddress&) const = default;
};

// civetweb keeps its sockets to itself, so a thread that waits for an answer cannot see its client hang up.
// This finds the descriptor of a connection by asking each open one for its ends; −1 if there is none. It
// stays valid while its owner keeps the connection open: call it only from where that is certain. Costs some
// system calls per open file; for connections that take long. Any thread.
int find_socket(const PeerAddress& peer);

// Whether the other end has closed the connection, or sends nothing more. Never blocks.
bool has_hung_up(int socket);

}  // namespace volvox
