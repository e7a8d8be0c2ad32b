#pragma once

#include <string>

#include "base/error.h"

namespace volvox {

// A certificate and its key, PEM.
struct TlsIdentity {
  std::string certificate, key;
};

// For trying out a cluster: an authority of its own, and certificates that it signs, good for both ends of a
// connection, whose subjectAltName has the name. Keys are on the curve P-256 and have no passphrase. `name`
// has between 1 and 64 bytes.
Result<TlsIdentity> new_tls_authority(const std::string& name, int days);
Result<TlsIdentity> new_tls_certificate(const TlsIdentity& authority, const std::string& name, int days);

}  // namespace volvox
