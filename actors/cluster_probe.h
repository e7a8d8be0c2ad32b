#pragma once

#include <netdb.h>
#include <openssl/ssl.h>

#include "base/error.h"

namespace volvox {

// Finds out whether a router answers at the address and takes this process: connects, over TLS unless `tls`
// is null, and waits until the router speaks. UNAVAILABLE says why not. Blocks for 1.5 s at most. CAF itself
// would wait for ever for a router that says nothing, and tells no reason when one refuses.
Status probe_router(const addrinfo& where, SSL_CTX* tls);

}  // namespace volvox
