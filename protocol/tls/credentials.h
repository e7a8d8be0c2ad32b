#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "base/error.h"

namespace volvox {

// The PEM files by which a process of a cluster proves who it is, and knows who belongs to the cluster.
struct TlsFiles {
  std::string certificate;  // its own, followed by those between it and the authority, if any
  std::string key;          // that goes with it
  std::string authority;    // whose certificates are trusted
};

// What was in them, known to be good.
struct TlsCredentials {
  std::string certificate, key, authority;  // PEM
  std::string name;                         // that the certificate gives its owner, for people
  std::vector<std::string> names;           // that it is good for: see names.h
  std::time_t expires = 0;                  // when the first certificate of them does
};

// Reads and checks: everything can be read, the key needs no passphrase and fits the certificate, which the
// authority signed for both ends of a connection, and which is valid at `now`. INVALID_ARGUMENT names the
// setting, the file, what is wrong, and what to do.
Result<TlsCredentials> read_tls_credentials(const TlsFiles& files, std::time_t now);

}  // namespace volvox
