#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include <openssl/ssl.h>

#include "base/time.h"

namespace volvox {

// What CAF 0.17 leaves undone for its TLS connections, done from OpenSSL's side. One for each process, made
// before the actor system and destroyed after it.
// * OpenSSL keeps errors in a list of the thread, where CAF leaves them. It would take an error of one
//   connection (a stranger's, or a process that died) for one of the next, and cut that: the list is emptied
//   before each use of a connection.
// * CAF tells nobody when it turns away a connection: this does.
// * CAF never gives up on a connection that says nothing: one that takes too long for the handshake is ended
//   as soon as another one comes.
class TlsWatch {
 public:
  // Called on CAF's thread: who it was ("HOST:PORT"), and why.
  using Refused = std::function<void(const std::string& peer, const std::string& why)>;

  TlsWatch(Refused refused, Duration patience);
  ~TlsWatch();
  TlsWatch(const TlsWatch&) = delete;
  TlsWatch& operator=(const TlsWatch&) = delete;

 private:
  struct Pending {
    std::string peer;
    TimePoint since{};
    int fd = -1;  // of our own, so that it stays the same connection; -1 once ended
  };

  static void on_context(void* parent, void* pointer, CRYPTO_EX_DATA* data, int index, long, void* watch);
  static void on_event(const SSL* ssl, int where, int result);
  void begin(const SSL* ssl);
  Pending take(const SSL* ssl);
  void end_slow_ones();
  void refuse(const SSL* ssl);

  const Refused refused_;
  const Duration patience_;
  std::mutex mutex_;
  std::map<const SSL*, Pending> pending_;  // accepted, and not through the handshake
};

}  // namespace volvox
