#include "actors/cluster/cluster_probe.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "protocol/tls/handles.h"

namespace volvox {
namespace {

constexpr Duration kProbeConnect = std::chrono::milliseconds(500);
constexpr Duration kAnswer = std::chrono::milliseconds(1000);
// A router without TLS speaks first, and must not get what it cannot read.
constexpr Duration kEarly = std::chrono::milliseconds(50);

tl::unexpected<Error> no(std::string why) {
  return fail(ErrorCode::kUnavailable, std::move(why));
}

// OpenSSL writes to sockets in a way that ends the process when the other end is gone.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

bool wait(const ProbeConnection& connection, short events, Duration at_most) {
  pollfd waiting{connection.fd(), events, 0};
  return poll(&waiting, 1, static_cast<int>(at_most / std::chrono::milliseconds(1))) == 1;
}

Status connect_to(const ProbeConnection& connection, const addrinfo& where) {
  if (connection.fd() < 0) return no(std::strerror(errno));
  if (connect(connection.fd(), where.ai_addr, where.ai_addrlen) != 0 && errno != EINPROGRESS)
    return no(std::strerror(errno));
  if (!wait(connection, POLLOUT, kProbeConnect)) return no("nobody answers there");
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(connection.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? Status() : no(std::strerror(error));
}

// Whether it says anything in time.
Status hear(const ProbeConnection& connection, Duration at_most, bool& spoke) {
  char byte = 0;
  spoke = wait(connection, POLLIN, at_most);
  if (spoke && recv(connection.fd(), &byte, 1, MSG_PEEK) <= 0) return no("it hung up");
  return {};
}

Status hear_in_the_clear(const ProbeConnection& connection) {
  bool spoke = false;
  if (Status heard = hear(connection, kAnswer, spoke); !heard || spoke) return heard;
  return no("it says nothing; if it wants TLS, set cluster.tls_certificate, tls_key and tls_ca here as well");
}

// Why OpenSSL gave up.
std::string reason(const SSL& ssl, int error) {
  const std::string said = take_tls_error();
  if (const long verdict = SSL_get_verify_result(&ssl); verdict != X509_V_OK)
    return std::string("its certificate is not accepted by cluster.tls_ca: ") +
           X509_verify_cert_error_string(verdict);
  if (error == SSL_ERROR_SSL)
    return "it does not take this process: " + said + "; both need certificates of one authority";
  return "it hung up";
}

Status hear_over_tls(const ProbeConnection& connection, SSL_CTX* tls) {
  bool spoke = false;
  if (Status heard = hear(connection, kEarly, spoke); !heard) return heard;
  if (spoke) return no("it does not use TLS; set cluster.tls_* for it too, or for neither");
  const TlsHandle<SSL> ssl(SSL_new(tls));
  if (!ssl || SSL_set_fd(ssl.get(), connection.fd()) != 1) return no(take_tls_error());
  SSL_set_connect_state(ssl.get());
  const auto until = std::chrono::steady_clock::now() + kAnswer;
  for (char byte = 0;;) {
    ERR_clear_error();
    const int count = SSL_read(ssl.get(), &byte, 1);
    if (count == 1) return {};
    const int error = SSL_get_error(ssl.get(), count);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return no(reason(*ssl, error));
    const Duration left = std::max<Duration>(until - std::chrono::steady_clock::now(), Duration::zero());
    if (!wait(connection, error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, left))
      return no("it does not answer over TLS");
  }
}

}  // namespace

ProbeConnection::~ProbeConnection() {
  if (fd_ >= 0) close(fd_);
}

Result<ProbeConnection> probe_router(const addrinfo& where, SSL_CTX* tls) {
  const NoPipeSignal quiet;
  ProbeConnection connection(socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  Status taken = connect_to(connection, where);
  if (taken) taken = tls == nullptr ? hear_in_the_clear(connection) : hear_over_tls(connection, tls);
  if (!taken) return tl::unexpected(std::move(taken).error());
  return connection;
}

}  // namespace volvox
