#include "actors/cluster/tls_watch.h"

#include <atomic>
#include <chrono>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/tls/handles.h"
#include "protocol/tls/names.h"

namespace volvox {
namespace {

// Of the places that each SSL_CTX, and each SSL, keeps for the watch.
std::atomic<int> the_index{-1}, the_end{-1};

std::string address_text(const std::string& host, std::uint16_t port) {
  return host + ":" + std::to_string(port);
}

// As CAF writes addresses.
std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[INET6_ADDRSTRLEN];
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "an unknown address";
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  const bool is_four = address.ss_family == AF_INET;
  const void* number = is_four ? static_cast<const void*>(&four.sin_addr) : &six.sin6_addr;
  if (inet_ntop(address.ss_family, number, host, sizeof host) == nullptr) return "an unknown address";
  return address_text(host, ntohs(is_four ? four.sin_port : six.sin6_port));
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

TlsWatch::TlsWatch(Refused refused, Duration patience, std::size_t most)
    : refused_(std::move(refused)), patience_(patience), most_(most) {
  the_end = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, this, nullptr, nullptr, &on_end);
  the_index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, this, &on_context, nullptr, nullptr);
}

TlsWatch::~TlsWatch() {
  CRYPTO_free_ex_index(CRYPTO_EX_INDEX_SSL_CTX, the_index.exchange(-1));
  CRYPTO_free_ex_index(CRYPTO_EX_INDEX_SSL, the_end.exchange(-1));
  for (const auto& [ssl, pending] : pending_)
    if (pending.fd >= 0) close(pending.fd);
}

// Each SSL_CTX is born with this.
void TlsWatch::on_context(void* parent, void*, CRYPTO_EX_DATA* data, int index, long, void* watch) {
  CRYPTO_set_ex_data(data, index, watch);
  SSL_CTX_set_info_callback(static_cast<SSL_CTX*>(parent), &on_event);
}

// Each SSL goes with this.
void TlsWatch::on_end(void* parent, void*, CRYPTO_EX_DATA*, int, long, void* watch) {
  auto& self = *static_cast<TlsWatch*>(watch);
  self.take(static_cast<const SSL*>(parent));
  const std::lock_guard lock(self.mutex_);
  self.proven_.erase(static_cast<const SSL*>(parent));
}

void TlsWatch::on_event(const SSL* ssl, int where, int result) {
  auto* watch = static_cast<TlsWatch*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), the_index));
  if (watch == nullptr) return;
  // A handshake that starts after something was read is one with a peer that is in.
  const bool starts = (where & SSL_CB_HANDSHAKE_START) != 0 && BIO_number_read(SSL_get_rbio(ssl)) == 0;
  if (starts) {
    guard(ssl);
    // Here, as the distribution's settings come after those of the context.
    SSL_set_min_proto_version(const_cast<SSL*>(ssl), TLS1_3_VERSION);
  }
  if (SSL_is_server(ssl) == 0) return;
  if (starts) {
    watch->begin(ssl);
  } else if ((where & SSL_CB_HANDSHAKE_DONE) != 0) {
    watch->prove(ssl);
  } else if (where == SSL_CB_ACCEPT_EXIT && result <= 0 && !waits(ssl)) {
    watch->refuse(ssl);
  }
}

void TlsWatch::begin(const SSL* ssl) {
  take(ssl);
  const int fd = fcntl(SSL_get_fd(ssl), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) {  // nobody could end it later
    shutdown(SSL_get_fd(ssl), SHUT_RDWR);
    return;
  }
  const std::lock_guard lock(mutex_);
  std::size_t open = 0;
  Pending* oldest = nullptr;
  for (auto& [other, pending] : pending_) {
    if (pending.fd < 0) continue;
    ++open;
    if (oldest == nullptr || pending.since < oldest->since) oldest = &pending;
  }
  if (open >= most_) end(*oldest);
  pending_[ssl] = {peer_of(fd), std::chrono::steady_clock::now(), fd};
}

void TlsWatch::prove(const SSL* ssl) {
  const Pending done = take(ssl);
  if (done.peer.empty()) return;  // it was proven before
  Proven proven{done.peer, {}};
  if (const X509* certificate = SSL_get0_peer_certificate(ssl)) proven.names = names_of(*certificate);
  const std::lock_guard lock(mutex_);
  proven_.insert_or_assign(ssl, std::move(proven));
}

std::vector<std::string> TlsWatch::names(const std::string& host, std::uint16_t port) const {
  const std::string peer = address_text(host, port);
  const std::lock_guard lock(mutex_);
  for (const auto& [ssl, proven] : proven_)
    if (proven.peer == peer) return proven.names;
  return {};
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

// CAF then finds it at its end, and lets it go.
void TlsWatch::end(Pending& pending) {
  shutdown(pending.fd, SHUT_RDWR);
  close(std::exchange(pending.fd, -1));
}

void TlsWatch::end_slow_ones(TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (auto& [ssl, pending] : pending_)
    if (pending.fd >= 0 && now - pending.since > patience_) end(pending);
}

void TlsWatch::refuse(const SSL* ssl) {
  const std::string why = reason(ssl);
  refused_(take(ssl).peer, why);
}

}  // namespace volvox
