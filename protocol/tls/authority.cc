#include "protocol/tls/authority.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <utility>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "protocol/tls/handles.h"

namespace volvox {
namespace {

// Clocks of machines differ a little: a certificate is valid since an hour before it was made.
constexpr long kBefore = -3600;
constexpr long kDay = 24 * 3600;

struct Extension {
  int kind;
  const char* value;
};
constexpr std::array kAuthority{Extension{NID_basic_constraints, "critical,CA:TRUE"},
                                Extension{NID_key_usage, "critical,keyCertSign,cRLSign"},
                                Extension{NID_subject_key_identifier, "hash"}};
constexpr std::array kProcess{Extension{NID_basic_constraints, "critical,CA:FALSE"},
                              Extension{NID_key_usage, "critical,digitalSignature"},
                              Extension{NID_ext_key_usage, "serverAuth,clientAuth"},
                              Extension{NID_subject_key_identifier, "hash"},
                              Extension{NID_authority_key_identifier, "keyid"}};

tl::unexpected<Error> failed(const char* what) {
  return fail(ErrorCode::kUnavailable, std::string("cannot make a ") + what + ": " + take_tls_error());
}

bool name_and_number(X509& certificate, const std::string& name, int days) {
  std::array<unsigned char, 16> number{};
  if (RAND_bytes(number.data(), static_cast<int>(number.size())) != 1) return false;
  number[0] = static_cast<unsigned char>((number[0] & 0x3f) | 0x40);  // positive, and of that length
  BIGNUM* serial = BN_bin2bn(number.data(), static_cast<int>(number.size()), nullptr);
  BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(&certificate));
  BN_free(serial);
  const auto* text = reinterpret_cast<const unsigned char*>(name.data());
  return X509_set_version(&certificate, X509_VERSION_3) == 1 &&
         X509_NAME_add_entry_by_NID(X509_get_subject_name(&certificate), NID_commonName, MBSTRING_UTF8, text,
                                    static_cast<int>(name.size()), -1, 0) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(&certificate), kBefore) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(&certificate), days * kDay) != nullptr;
}

template <class Extensions>
bool extend(X509& certificate, X509& issuer, const Extensions& extensions) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  return std::all_of(extensions.begin(), extensions.end(), [&](const Extension& one) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, one.kind, one.value);
    const bool added = extension != nullptr && X509_add_ext(&certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
  });
}

// Not by a text with the syntax of extensions, in which a name might say more.
bool add_name(X509& certificate, const std::string& name) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(GENERAL_NAMES_new(),
                                                                            &GENERAL_NAMES_free);
  GENERAL_NAME* entry = GENERAL_NAME_new();
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  if (ASN1_STRING_set(text, name.data(), static_cast<int>(name.size())) != 1) return false;
  GENERAL_NAME_set0_value(entry, GEN_DNS, text);
  return sk_GENERAL_NAME_push(names.get(), entry) > 0 &&
         X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

std::string text_of(const TlsHandle<BIO>& writer) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(writer.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

Result<TlsIdentity> to_pem(X509& certificate, EVP_PKEY& key) {
  const TlsHandle<BIO> open(BIO_new(BIO_s_mem())), secret(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(open.get(), &certificate) != 1 ||
      PEM_write_bio_PrivateKey(secret.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("PEM file");
  return TlsIdentity{text_of(open), text_of(secret)};
}

// Signed by the issuer; without one, by itself.
template <class Extensions>
Result<TlsIdentity> issue(const std::string& name, int days, X509* issuer, EVP_PKEY* issuer_key,
                          const Extensions& extensions) {
  const TlsHandle<X509> certificate(X509_new());
  const TlsHandle<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!certificate || !key || !name_and_number(*certificate, name, days)) return failed("certificate");
  if (issuer == nullptr) issuer = certificate.get();
  if (issuer_key == nullptr) issuer_key = key.get();
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) != 1 ||
      X509_set_pubkey(certificate.get(), key.get()) != 1 || !extend(*certificate, *issuer, extensions) ||
      (issuer != certificate.get() && !add_name(*certificate, name)) ||
      X509_sign(certificate.get(), issuer_key, EVP_sha256()) == 0)
    return failed("certificate");
  return to_pem(*certificate, *key);
}

}  // namespace

Result<TlsIdentity> new_tls_authority(const std::string& name, int days) {
  return issue(name, days, nullptr, nullptr, kAuthority);
}

Result<TlsIdentity> new_tls_certificate(const TlsIdentity& authority, const std::string& name, int days) {
  const TlsHandle<X509> issuer(
      PEM_read_bio_X509(read_from(authority.certificate).get(), nullptr, nullptr, nullptr));
  const TlsHandle<EVP_PKEY> issuer_key(
      PEM_read_bio_PrivateKey(read_from(authority.key).get(), nullptr, nullptr, nullptr));
  if (!issuer || !issuer_key) return invalid("the authority's files cannot be read: " + take_tls_error());
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1)
    return invalid("the authority's certificate and key do not belong together");
  return issue(name, days, issuer.get(), issuer_key.get(), kProcess);
}

}  // namespace volvox
