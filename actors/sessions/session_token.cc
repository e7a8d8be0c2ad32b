#include "actors/sessions/session_token.h"

#include <variant>

#include "base/random_number.h"

namespace volvox {

SessionVerb session_verb(SessionOperation operation) {
  if (operation == SessionOperation::kBegin) return SessionVerb::kBegin;
  return operation == SessionOperation::kEnd ? SessionVerb::kEnd : SessionVerb::kContinue;
}

SessionId session_id(const WireSessionToken& token) {
  return {token.id_hi, token.id_lo};
}

bool is_session_part(const RequestHeader& header) {
  return header.session && header.session->operation != SessionOperation::kNone;
}

bool is_decided_at_home(const RequestHeader& header, ErrorCode why) {
  const bool waits = why == ErrorCode::kCancelled || why == ErrorCode::kDeadlineExceeded;
  return waits && is_session_part(header);
}

bool is_empty_part(const RequestBody& body) {
  const auto* chain = std::get_if<ChainStructure>(&body.structure);
  return chain != nullptr && chain->length == 0 && body.inputs.empty();
}

Result<SessionId> random_session_id() {
  const auto hi = random_bits();
  const auto lo = random_bits();
  if (!hi || !lo) return tl::unexpected(hi ? lo.error() : hi.error());
  return SessionId{*hi, *lo};
}

}  // namespace volvox
