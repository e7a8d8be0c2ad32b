#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actors/cluster/tls_watch.h"
#include "base/error.h"
#include "config/cluster.h"
#include "config/validate.h"
#include "monitoring/metrics/cluster_metrics.h"
#include "protocol/tls/context.h"

namespace volvox {

// A file that lies in memory, and that others of this process open by its path.
class MemoryFile {
 public:
  static Result<MemoryFile> with(const std::string& text);
  MemoryFile() = default;
  MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  MemoryFile& operator=(MemoryFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~MemoryFile();

  std::string path() const;

 private:
  int fd_ = -1;
};

// How the processes of a cluster reach each other: over TLS, each proving that it belongs here, where
// cluster.tls_* are set; else in the clear. CAF opens the certificates' files at each connection and ends the
// process when it cannot read one, so what was checked at the start is kept for it in memory: a file that is
// being replaced harms nobody, and counts from the next start on. Outlives the actor system; any thread.
class ClusterTransport {
 public:
  // INVALID_ARGUMENT where the files will not do; see read_tls_credentials(). The metrics outlive it. A
  // process that joins under a name has a certificate that is good for it.
  static Result<std::shared_ptr<const ClusterTransport>> open(const ClusterSection& cluster,
                                                              ClusterMetrics& metrics,
                                                              const std::string& name = {});

  // Called before the system is made …
  void configure(caf::actor_system_config& config) const;
  // … and after: whether it looks at its peers as it should.
  Status check(caf::actor_system& system) const;

  // The port.
  Result<std::uint16_t> publish(caf::actor_system& system, const caf::actor& whom, const HostPort& at) const;
  // Nobody can dial the published port any more.
  void hide(caf::actor_system& system, std::uint16_t port) const;
  // To which `connect` is said to reach a published actor.
  caf::io::middleman_actor dialer(caf::actor_system& system) const;

  // Ends connections that take too long for the handshake; to be called now and then.
  void tend(TimePoint now) const;
  // Says, in the actor that asks, whether the peer's certificate is good for this name: PERMISSION_DENIED; in
  // the clear any name is.
  void check_name(caf::event_based_actor* self, const caf::actor& peer, const std::string& name,
                  std::function<void(const Status&)> then) const;

  SSL_CTX* tls() const { return tls_.get(); }  // null: in the clear

 private:
  std::shared_ptr<SSL_CTX> tls_;
  std::unique_ptr<TlsWatch> watch_;
  MemoryFile certificate_, key_, authority_;
};

}  // namespace volvox
