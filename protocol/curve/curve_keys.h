#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace volvox {

// The long-term key pair of one end of an encrypted connection (CurveZMQ, ZeroMQ RFC 26): Z85 text of 40
// characters each. `secret_key` is empty where only the public half is known.
struct CurveKeys {
  std::string public_key, secret_key;
};

// A pair from the system's random numbers. UNAVAILABLE where ZeroMQ was built without CURVE.
Result<CurveKeys> new_curve_keys();

// Keys lie in files, in the certificate format that czmq and pyzmq read and write as well. Of such a file,
// only `public-key` and `secret-key` are looked at. INVALID_ARGUMENT names the file and what is wrong with
// it.
Result<CurveKeys> read_public_key(const std::filesystem::path& file);
Result<CurveKeys> read_secret_key(const std::filesystem::path& file);  // both halves; they must fit together,
                                                                       // and as read_secret_file() says

// Write new files; an existing one is refused. A secret one can be read by its owner only (mode 0600).
Status write_public_key(const std::filesystem::path& file, const CurveKeys& keys);
Status write_secret_key(const std::filesystem::path& file, const CurveKeys& keys);

}  // namespace volvox
