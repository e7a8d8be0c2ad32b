#include "protocol/tls/context.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace volvox {

std::string take_tls_error() {
  char text[256] = "no reason is known";
  if (const unsigned long error = ERR_peek_last_error(); error != 0) {
    const char* reason = ERR_reason_error_string(error);
    if (reason == nullptr) ERR_error_string_n(error, text, sizeof text);
    ERR_clear_error();
    return reason == nullptr ? text : reason;
  }
  return text;
}

Result<std::shared_ptr<SSL_CTX>> make_tls_context(const TlsCredentials& credentials) {
  TlsHandle<SSL_CTX> context(SSL_CTX_new(TLS_method()));
  if (!context) return fail(ErrorCode::kUnavailable, take_tls_error());
  const auto chain = read_from(credentials.certificate), authority = read_from(credentials.authority),
             secret = read_from(credentials.key);
  const TlsHandle<X509> own(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  const TlsHandle<EVP_PKEY> key(PEM_read_bio_PrivateKey(secret.get(), nullptr, nullptr, nullptr));
  bool good = own && key && SSL_CTX_use_certificate(context.get(), own.get()) == 1 &&
              SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1;
  while (good) {
    const TlsHandle<X509> between(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
    if (!between) break;
    good = SSL_CTX_add1_chain_cert(context.get(), between.get()) == 1;
  }
  while (good) {
    const TlsHandle<X509> trusted(PEM_read_bio_X509(authority.get(), nullptr, nullptr, nullptr));
    if (!trusted) break;
    good = X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), trusted.get()) == 1;
  }
  if (!good) return invalid(take_tls_error());
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return std::shared_ptr<SSL_CTX>(context.release(), TlsRelease());
}

}  // namespace volvox
