#include "protocol/tls/credentials.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "config/secret_file.h"
#include "protocol/tls/context.h"
#include "protocol/tls/handles.h"
#include "protocol/tls/names.h"

namespace volvox {
namespace {

constexpr std::size_t kLargestCertificate = 1 << 20;

// One of the three, as messages call it.
struct Place {
  const char* setting;
  const std::string& path;
};

tl::unexpected<Error> wrong(const Place& place, const std::string& what) {
  return invalid(std::string("cluster.") + place.setting + ": '" + place.path + "' " + what);
}

Result<std::string> named(const Place& place, Result<std::string> text) {
  if (text) return text;
  return invalid(std::string("cluster.") + place.setting + ": " + text.error().message);
}

std::string text_of(std::time_t time) {
  char text[32];
  std::tm parts{};
  gmtime_r(&time, &parts);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

std::time_t time_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

Status check_dates(const Place& place, const X509& certificate, std::time_t now) {
  const std::time_t from = time_of(X509_get0_notBefore(&certificate));
  const std::time_t until = time_of(X509_get0_notAfter(&certificate));
  if (now < from)
    return wrong(place, "is not valid before " + text_of(from) + "; is this machine's clock right?");
  if (now > until) return wrong(place, "expired on " + text_of(until) + "; make a new one and restart");
  return {};
}

Result<std::vector<TlsHandle<X509>>> read_certificates(const Place& place, const std::string& text,
                                                       std::time_t now) {
  std::vector<TlsHandle<X509>> all;
  const auto reader = read_from(text);
  while (X509* one = PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)) {
    all.emplace_back(one);
    if (Status valid = check_dates(place, *one, now); !valid)
      return tl::unexpected<Error>(std::move(valid).error());
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = take_tls_error();
  if (!at_end) return wrong(place, "has a certificate that cannot be read: " + error);
  if (all.empty()) return wrong(place, "holds no certificate in PEM form");
  return all;
}

// Nobody is there to type it.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Status check_key(const Place& place, const std::string& text, const Place& certificate, X509& first) {
  bool asked = false;
  const TlsHandle<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(read_from(text).get(), nullptr, no_passphrase, &asked));
  const std::string error = take_tls_error();
  if (asked)
    return wrong(place, "is encrypted with a passphrase; give one without, readable by its owner only");
  if (!key) return wrong(place, "holds no private key in PEM form: " + error);
  if (X509_check_private_key(&first, key.get()) == 1) return {};
  take_tls_error();
  return wrong(place, "is not the key of '" + certificate.path + "'; give the two that belong together");
}

// As the other end will.
Status check_signature(const Place& place, const std::vector<TlsHandle<X509>>& chain, const Place& authority,
                       const std::vector<TlsHandle<X509>>& trusted, std::time_t now) {
  const TlsHandle<X509_STORE> store(X509_STORE_new());
  for (const auto& one : trusted) X509_STORE_add_cert(store.get(), one.get());
  STACK_OF(X509)* between = sk_X509_new_null();
  for (const auto& one : chain) sk_X509_push(between, one.get());
  Status good;
  for (const int use : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT}) {
    const TlsHandle<X509_STORE_CTX> check(X509_STORE_CTX_new());
    X509_STORE_CTX_init(check.get(), store.get(), chain.front().get(), between);
    X509_STORE_CTX_set_purpose(check.get(), use);
    X509_STORE_CTX_set_time(check.get(), 0, now);
    if (!good || X509_verify_cert(check.get()) == 1) continue;
    good = wrong(place, std::string("is not accepted by cluster.tls_ca '") + authority.path +
                            "': " + X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())) +
                            "; it must be signed by that authority, for serverAuth and clientAuth");
  }
  sk_X509_free(between);
  take_tls_error();
  return good;
}

std::string name_in(const X509& certificate) {
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(&certificate), NID_commonName, name, sizeof name);
  return name;
}

}  // namespace

Result<TlsCredentials> read_tls_credentials(const TlsFiles& files, std::time_t now) {
  const Place certificate{"tls_certificate", files.certificate}, key{"tls_key", files.key},
      authority{"tls_ca", files.authority};
  auto texts = std::pair(named(certificate, read_open_file(certificate.path, kLargestCertificate)),
                         named(authority, read_open_file(authority.path, kLargestCertificate)));
  auto secret = named(key, read_secret_file(key.path, kLargestCertificate));
  for (const auto* text : {&texts.first, &secret, &texts.second})
    if (!*text) return tl::unexpected(text->error());
  const auto chain = read_certificates(certificate, *texts.first, now);
  if (!chain) return tl::unexpected(chain.error());
  const auto trusted = read_certificates(authority, *texts.second, now);
  if (!trusted) return tl::unexpected(trusted.error());
  Status good = check_key(key, *secret, certificate, *chain->front());
  if (good) good = check_signature(certificate, *chain, authority, *trusted, now);
  if (!good) return tl::unexpected(std::move(good).error());
  TlsCredentials read{std::move(*texts.first),  std::move(*secret),        std::move(*texts.second),
                      name_in(*chain->front()), names_of(*chain->front()), 0};
  read.expires = time_of(X509_get0_notAfter(chain->front().get()));
  for (const auto* list : {&*chain, &*trusted})
    for (const auto& one : *list)
      read.expires = std::min(read.expires, time_of(X509_get0_notAfter(one.get())));
  if (const auto usable = make_tls_context(read); !usable)
    return wrong(certificate, "cannot be used: " + usable.error().message);
  return read;
}

}  // namespace volvox
