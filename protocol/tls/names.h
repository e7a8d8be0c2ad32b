#pragma once

#include <string>
#include <vector>

#include <openssl/x509.h>

#include "base/error.h"

namespace volvox {

// The names that a certificate is good for: the DNS entries of its subjectAltName, as they stand there.
std::vector<std::string> names_of(const X509& certificate);

// Whether a process of that name may show a certificate with these names. PERMISSION_DENIED says what to do.
Status check_certified(const std::vector<std::string>& names, const std::string& name);

}  // namespace volvox
