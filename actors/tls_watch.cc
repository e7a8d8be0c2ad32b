#include "actors/tls_watch.h"

#include <atomic>
#include <chrono>
#include <utility>

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/tls/handles.h"

namespace volvox {
namespace {

// Of the place that each SSL_CTX keeps for the watch.
std::atomic<int> the_index{-1};

std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (getpeername(fd, raw, &size) != 0 ||
      getnameinfo(raw, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  return std::string(host) + ":" + port;
}

// A connection without data yet is not a failed one.
bool waits(const SSL* ssl) {
  return SSL_want(ssl) != SSL_NOTHING && BIO_should_retry(SSL_get_rbio(ssl)) != 0;
}

std::string reason(const SSL* ssl) {
  const unsigned long error = ERR_peek_last_error();
  if (const long verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK)
    return std::string("its certificate is not accepted: ") + X509_verify_cert_error_string(verdict);
  const char* text = error == 0 ? nullptr : ERR_reason_error_string(error);
  return text == nullptr ? "it said nothing in TLS" : text;
}

// What is in the list before a connection is used is not this connection's. But an alert is written while
// the reason for it is still wanted.
long clear_errors(BIO* bio, int operation, const char*, size_t, int, long, int result, size_t*) {
  const auto* ssl = reinterpret_cast<const SSL*>(BIO_get_callback_arg(bio));
  if (operation == BIO_CB_READ || (operation == BIO_CB_WRITE && SSL_is_init_finished(ssl) != 0))
    ERR_clear_error();
  return result;
}

void guard(const SSL* ssl) {
  BIO* bio = SSL_get_rbio(ssl);
  BIO_set_callback_arg(bio, reinterpret_cast<char*>(const_cast<SSL*>(ssl)));
  BIO_set_callback_ex(bio, clear_errors);
}

}  // namespace

TlsWatch::TlsWatch(Refused refused, Duration patience) : refused_(std::move(refused)), patience_(patience) {
  the_index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, this, &on_context, nullptr, nullptr);
}

TlsWatch::~TlsWatch() {
  CRYPTO_free_ex_index(CRYPTO_EX_INDEX_SSL_CTX, the_index.exchange(-1));
  for (const auto& [ssl, pending] : pending_)
    if (pending.fd >= 0) close(pending.fd);
}

// Each SSL_CTX is born with this.
void TlsWatch::on_context(void* parent, void*, CRYPTO_EX_DATA* data, int index, long, void* watch) {
  CRYPTO_set_ex_data(data, index, watch);
  SSL_CTX_set_info_callback(static_cast<SSL_CTX*>(parent), &on_event);
}

void TlsWatch::on_event(const SSL* ssl, int where, int result) {
  auto* watch = static_cast<TlsWatch*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), the_index));
  if (watch == nullptr) return;
  // A handshake that starts after something was read is one with a peer that is in.
  const bool starts = (where & SSL_CB_HANDSHAKE_START) != 0 && BIO_number_read(SSL_get_rbio(ssl)) == 0;
  if (starts) guard(ssl);
  if (SSL_is_server(ssl) == 0) return;
  if (starts) {
    watch->begin(ssl);
  } else if ((where & SSL_CB_HANDSHAKE_DONE) != 0) {
    watch->take(ssl);
  } else if (where == SSL_CB_ACCEPT_EXIT && result <= 0 && !waits(ssl)) {
    watch->refuse(ssl);
  }
}

void TlsWatch::begin(const SSL* ssl) {
  end_slow_ones();
  const int fd = dup(SSL_get_fd(ssl));
  if (fd < 0) return;
  take(ssl);
  const std::lock_guard lock(mutex_);
  pending_[ssl] = {peer_of(fd), std::chrono::steady_clock::now(), fd};
}

TlsWatch::Pending TlsWatch::take(const SSL* ssl) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(ssl);
  if (found == pending_.end()) return {};
  Pending taken = std::move(found->second);
  pending_.erase(found);
  if (taken.fd >= 0) close(taken.fd);
  return taken;
}

// CAF then finds them at their end, and lets them go.
void TlsWatch::end_slow_ones() {
  const TimePoint now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (auto& [ssl, pending] : pending_) {
    if (pending.fd < 0 || now - pending.since <= patience_) continue;
    shutdown(pending.fd, SHUT_RDWR);
    close(std::exchange(pending.fd, -1));
  }
}

void TlsWatch::refuse(const SSL* ssl) {
  const std::string why = reason(ssl);
  refused_(take(ssl).peer, why);
}

}  // namespace volvox
