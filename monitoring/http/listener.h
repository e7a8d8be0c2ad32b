#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/validate.h"
#include "monitoring/http/descriptor.h"

namespace volvox {

// A socket that takes connections, over TCP or at a path of the file system. A path's socket can be opened by
// this process's user only (mode 0600, from the first moment); one that a process left behind is replaced,
// and nothing else that lies there. Owned by one thread.
class Listener {
 public:
  // Port 0 takes any free one. UNAVAILABLE, which names the purpose, where it cannot be bound.
  static Result<Listener> open(const ListenAddress& address, const char* purpose);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return socket_.get(); }
  std::uint16_t port() const { return port_; }  // 0: a path

  // A connection, which never blocks, and whose it is.
  struct Accepted {
    Descriptor socket;
    std::string client;  // "10.0.0.7", or "uid 1000"
  };
  // The next that waits, if any. Where the process has no descriptors left, a few that this listener keeps
  // are used; when they are gone, too, who waits is sent away.
  std::optional<Accepted> accept();
  // Some of those are in use: connections should end.
  bool is_short() const { return reserve_.size() < kReserve; }
  // Not even that could be done: asked again at once, it would be the same.
  bool starved() const { return starved_; }

 private:
  static constexpr std::size_t kReserve = 4;

  Listener() = default;
  void refill();

  Descriptor socket_;
  std::uint16_t port_ = 0;
  std::string path_;
  std::vector<Descriptor> reserve_;
  bool starved_ = false;
};

}  // namespace volvox
