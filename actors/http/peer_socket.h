#pragma once

#include <array>
#include <atomic>
#include <cstddef>
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
// This finds the descriptor of a connection by asking each open one for its ends. Connections that come and
// go get the same few numbers again: those that were found before are asked first. Any thread.
class SocketFinder {
 public:
  // −1 if there is none. It stays valid while its owner keeps the connection open: call it only from where
  // that is certain. Costs a system call or two for each number that is asked.
  int find(const PeerAddress& peer);

 private:
  std::array<std::atomic<int>, 32> found_{};
  std::atomic<std::size_t> oldest_{0};
};

// Whether the other end has closed the connection, or sends nothing more. Never blocks.
bool has_hung_up(int socket);

}  // namespace volvox
