#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <openssl/ssl.h>

#include "base/time.h"

namespace volvox {

// What CAF 0.17 leaves undone for its TLS connections, done from OpenSSL's side. One for each process, made
// before the actor system and destroyed after it.
// * OpenSSL keeps errors in a list of the thread, where CAF leaves them. It would take an error of one
//   connection (a stranger's, or a process that died) for one of the next, and cut that: the list is emptied
//   before each use of a connection.
// * CAF tells nobody when it turns away a connection: this does.
// * CAF never gives up on a connection that says nothing: one that takes too long for the handshake is ended,
//   and the one that has taken longest when there are too many.
// * CAF leaves the least version of TLS to the distribution: it is 1.3 here, which all of a cluster speak.
// * CAF tells nobody whom a peer's certificate is for: this does.
class TlsWatch {
 public:
  // Called on CAF's thread: who it was ("HOST:PORT"), and why.
  using Refused = std::function<void(const std::string& peer, const std::string& why)>;

  // At most so many handshakes are under way.
  TlsWatch(Refused refused, Duration patience, std::size_t most);
  ~TlsWatch();
  TlsWatch(const TlsWatch&) = delete;
  TlsWatch& operator=(const TlsWatch&) = delete;

  // Ends the connections that have taken too long; to be called now and then, by any thread.
  void end_slow_ones(TimePoint now);
  // Whom the certificate of the peer at that address is good for, which is connected and has been proven. Any
  // thread.
  std::vector<std::string> names(const std::string& host, std::uint16_t port) const;

 private:
  struct Proven {
    std::string peer;
    std::vector<std::string> names;
  };
  struct Pending {
    std::string peer;
    TimePoint since{};
    int fd = -1;  // of our own, so that it stays the same connection; -1 once ended
  };

  static void on_context(void* parent, void* pointer, CRYPTO_EX_DATA* data, int index, long, void* watch);
  static void on_end(void* parent, void* pointer, CRYPTO_EX_DATA* data, int index, long, void* watch);
  static void on_event(const SSL* ssl, int where, int result);
  void begin(const SSL* ssl);
  Pending take(const SSL* ssl);
  void end(Pending& pending);
  void refuse(const SSL* ssl);
  void prove(const SSL* ssl);

  const Refused refused_;
  const Duration patience_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<const SSL*, Pending> pending_;  // accepted, and not through the handshake
  std::map<const SSL*, Proven> proven_;    // accepted, and through it
};

}  // namespace volvox
