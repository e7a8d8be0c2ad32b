#include "actors/session_token.h"

#include <algorithm>
#include <variant>

#include "actors/random_number.h"

namespace volvox {

SessionVerb session_verb(SessionOperation operation) {
  if (operation == SessionOperation::kBegin) return SessionVerb::kBegin;
  return operation == SessionOperation::kEnd ? SessionVerb::kEnd : SessionVerb::kContinue;
}

SessionId session_id(const WireSessionToken& token) {
  return {token.id_hi, token.id_lo};
}

std::uint64_t client_number(std::string_view account) {
  if (account.empty()) return 0;
  std::uint64_t number = account.size();
  for (const char c : account) {
    number = (number ^ static_cast<unsigned char>(c)) + 0x9e3779b97f4a7c15ULL;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9ULL;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebULL;
    number ^= number >> 31;
  }
  return std::max<std::uint64_t>(number, 1);
}

bool is_session_part(const RequestHeader& header) {
  return header.session && header.session->operation != SessionOperation::kNone;
}

bool is_empty_part(const RequestBody& body) {
  const auto* chain = std::get_if<WireChain>(&body.structure);
  return chain != nullptr && chain->length == 0 && body.inputs.empty();
}

Result<SessionId> random_session_id() {
  const auto hi = random_bits();
  const auto lo = random_bits();
  if (!hi || !lo) return tl::unexpected(hi ? lo.error() : hi.error());
  return SessionId{*hi, *lo};
}

}  // namespace volvox
