#pragma once

#include <memory>

#include "base/error.h"
#include "protocol/tls/credentials.h"
#include "protocol/tls/handles.h"

namespace volvox {

// For connections that show these credentials and take only peers that the authority signed. Any thread may
// make connections with it.
Result<std::shared_ptr<SSL_CTX>> make_tls_context(const TlsCredentials& credentials);

}  // namespace volvox
