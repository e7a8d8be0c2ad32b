#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include <sys/socket.h>

namespace volvox {

// CAF accepts whoever connects to a listening port, as many as there are, and when the process is out of
// descriptors it asks for the same connection again and again without a pause. Its library offers no place to
// say otherwise; but it accepts by the system's accept(), and the program puts this in its place
// (cli/admin/accept.cc). A connection beyond the bound of its port, or beyond what the process may open, is
// taken and closed at once: nothing is left that would wake the library again. What comes to a TCP port
// without a bound was let in at another door of the process: for that a few descriptors are kept. Any thread.
class AcceptGuard {
 public:
  // The one of the process; there is one, as there is one accept().
  static AcceptGuard& of_process();

  AcceptGuard();
  ~AcceptGuard();
  AcceptGuard(const AcceptGuard&) = delete;
  AcceptGuard& operator=(const AcceptGuard&) = delete;

  // As accept4(2). ECONNABORTED: one was turned away.
  int accept(int listener, sockaddr* address, socklen_t* size, int flags = 0);

  // From now on this port (of TCP) has at most so many connections at once; `refused` is called for each one
  // that is turned away, on the thread that accepts, and must not block. The latest call counts.
  void bound(std::uint16_t port, std::size_t connections, std::function<void()> refused);
  void forget(std::uint16_t port);

 private:
  // An accepted connection: the file behind a descriptor, which tells whether it is still the same.
  struct Accepted {
    int fd = -1;
    std::uint64_t inode = 0;
  };
  struct Port {
    std::size_t most = 0;
    std::function<void()> refused;
    std::vector<Accepted> accepted;
  };

  Port* port_of(int listener);
  bool take(Port& port, int fd);
  bool give_way(int listener);
  int accept_with_reserve(int listener, sockaddr* address, socklen_t* size, int flags);
  void refill();

  std::mutex mutex_;
  std::map<std::uint16_t, Port> ports_;
  std::vector<int> reserve_;  // given up for what there is no descriptor for
};

}  // namespace volvox
