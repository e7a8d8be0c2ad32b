#include "protocol/tls/names.h"

#include <algorithm>
#include <memory>

#include <openssl/x509v3.h>

namespace volvox {

std::vector<std::string> names_of(const X509& certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> entries(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  std::vector<std::string> names;
  for (int i = 0; i < sk_GENERAL_NAME_num(entries.get()); ++i) {
    const GENERAL_NAME* entry = sk_GENERAL_NAME_value(entries.get(), i);
    if (entry->type != GEN_DNS) continue;
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(entry->d.dNSName));
    names.emplace_back(text, static_cast<std::size_t>(ASN1_STRING_length(entry->d.dNSName)));
  }
  return names;
}

Status check_certified(const std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "'" : ", '") + one + "'";
  return fail(ErrorCode::kPermissionDenied,
              "the certificate is good for " + (all.empty() ? "no name" : all) + ", not for '" + name +
                  "': give the process a certificate whose subjectAltName has DNS:" + name +
                  ", or the name of the one it has");
}

}  // namespace volvox
