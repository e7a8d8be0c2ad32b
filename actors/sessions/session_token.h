#pragma once

#include "base/error.h"
#include "protocol/messages.h"
#include "routing/sessions/session.h"

namespace volvox {

// What a client's token says, in the table's words.
SessionVerb session_verb(SessionOperation operation);  // of a request that has one
SessionId session_id(const WireSessionToken& token);

// Whether the request is a part of a session.
bool is_session_part(const RequestHeader& header);
// Whether only its session's keeper can say what became of one that nobody waits for any more, for this
// reason: a part changes its session, and whoever waits for it cannot know whether it has. A server that
// leaves has no time for that.
bool is_decided_at_home(const RequestHeader& header, ErrorCode why);
// An end may come without inputs, as a chain of no steps: then it only ends its session.
bool is_empty_part(const RequestBody& body);

// That nobody can guess.
Result<SessionId> random_session_id();

}  // namespace volvox
