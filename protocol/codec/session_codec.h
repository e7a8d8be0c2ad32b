#pragma once

#include <cstddef>

#include "base/error.h"
#include "protocol/limits.h"
#include "protocol/messages.h"
#include "protocol/volvox.capnp.h"

namespace volvox {

// The session token, which requests and replies share. Internal to the codec.
Result<WireSessionToken> read_session(wire::SessionToken::Reader reader, const WireLimits& limits);
Status check_session(const WireSessionToken& token, const WireLimits& limits);
void write_session(const WireSessionToken& token, wire::SessionToken::Builder builder);
std::size_t session_words(const WireSessionToken& token);

}  // namespace volvox
