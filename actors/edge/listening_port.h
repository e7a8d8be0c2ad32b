#pragma once

#include <cstdint>
#include <mutex>

namespace volvox {

// Whether this process still listens at a TCP port. Sockets that a library holds can be lost with what held
// them, for want of memory say, and nobody is told: such a process looks well and serves nobody. Any thread.
class ListeningPort {
 public:
  explicit ListeningPort(std::uint16_t port) : port_(port) {}

  // Two system calls while it does; all descriptors are looked through when it does not.
  bool is_open();

 private:
  const std::uint16_t port_;
  std::mutex mutex_;
  int listener_ = -1;  // that was found last
};

}  // namespace volvox
