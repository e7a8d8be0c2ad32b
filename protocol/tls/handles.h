#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace volvox {

// OpenSSL's handles with owners. Internal to what deals with certificates.
struct TlsRelease {
  void operator()(BIO* one) const { BIO_free(one); }
  void operator()(EVP_PKEY* one) const { EVP_PKEY_free(one); }
  void operator()(X509* one) const { X509_free(one); }
  void operator()(X509_STORE* one) const { X509_STORE_free(one); }
  void operator()(X509_STORE_CTX* one) const { X509_STORE_CTX_free(one); }
  void operator()(SSL_CTX* one) const { SSL_CTX_free(one); }
  void operator()(SSL* one) const { SSL_free(one); }
};
template <class T>
using TlsHandle = std::unique_ptr<T, TlsRelease>;

// A reader of the text, which must outlive it.
inline TlsHandle<BIO> read_from(std::string_view text) {
  return TlsHandle<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// What OpenSSL last complained of on this thread, whose list of complaints is empty then.
std::string take_tls_error();

}  // namespace volvox
