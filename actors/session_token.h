#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "protocol/messages.h"
#include "routing/session.h"

namespace volvox {

// What a client's token says, in the table's words.
SessionVerb session_verb(SessionOperation operation);  // of a request that has one
SessionId session_id(const WireSessionToken& token);

// What sessions know a client by: its account as 64 bits, the same in every process; 0 where it needs no key.
// Names are the operator's, or public keys: nobody can choose one to meet another's number.
std::uint64_t client_number(std::string_view account);

// Whether the request is a part of a session.
bool is_session_part(const RequestHeader& header);
// An end may come without inputs, as a chain of no steps: then it only ends its session.
bool is_empty_part(const RequestBody& body);

// That nobody can guess.
Result<SessionId> random_session_id();

}  // namespace volvox
