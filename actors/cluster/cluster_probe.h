#pragma once

#include <utility>

#include <netdb.h>
#include <openssl/ssl.h>

#include "base/error.h"

namespace volvox {

// A connection to a router, which ends with this object.
class ProbeConnection {
 public:
  explicit ProbeConnection(int fd) : fd_(fd) {}
  ProbeConnection(ProbeConnection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ProbeConnection& operator=(ProbeConnection&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ProbeConnection();

  int fd() const { return fd_; }

 private:
  int fd_;
};

// Finds out whether a router answers at the address and takes this process: connects, over TLS unless `tls`
// is null, and waits until the router speaks. UNAVAILABLE says why not. Blocks for 1.5 s at most. CAF itself
// would wait for ever for a router that says nothing, and tells no reason when one refuses.
//
// Keep what it returns until CAF's own connection stands or has failed, so that this one does not get the
// number of the probe's descriptor at the router, where CAF (0.17) forgets closed connections by it.
Result<ProbeConnection> probe_router(const addrinfo& where, SSL_CTX* tls);

}  // namespace volvox
