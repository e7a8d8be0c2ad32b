#include "protocol/codec/session_codec.h"

#include "protocol/codec/capnp_message.h"

namespace volvox {

Result<WireSessionToken> read_session(wire::SessionToken::Reader reader, const WireLimits& limits) {
  const auto operation = static_cast<std::uint16_t>(reader.getOperation());
  if (operation > static_cast<std::uint16_t>(SessionOperation::kEnd)) {
    return invalid("session operation " + std::to_string(operation) + " is not known");
  }
  WireSessionToken token;
  token.id_hi = reader.getIdHi();
  token.id_lo = reader.getIdLo();
  token.model_version = reader.getModelVersion();
  token.operation = static_cast<SessionOperation>(operation);
  token.model_digest = reader.getModelDigest();
  token.numerics_id = reader.getNumericsId();
  token.epoch = reader.getEpoch();
  token.nonce = reader.getNonce();
  token.nonce_hi = reader.getNonceHi();
  token.sequence = reader.getSequence();
  token.home = view_of(reader.getHome());
  token.replica = view_of(reader.getReplica());
  if (auto ok = check_session(token, limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return token;
}

Status check_session(const WireSessionToken& token, const WireLimits& limits) {
  if (auto ok = check_name("session home", token.home, limits); !ok) return ok;
  return check_name("session replica", token.replica, limits);
}

void write_session(const WireSessionToken& token, wire::SessionToken::Builder builder) {
  builder.setIdHi(token.id_hi);
  builder.setIdLo(token.id_lo);
  builder.setModelVersion(token.model_version);
  builder.setOperation(static_cast<wire::SessionOperation>(token.operation));
  builder.setModelDigest(token.model_digest);
  builder.setNumericsId(token.numerics_id);
  builder.setEpoch(token.epoch);
  builder.setNonce(token.nonce);
  builder.setNonceHi(token.nonce_hi);
  builder.setSequence(token.sequence);
  put_text(token.home, [&](unsigned size) { return builder.initHome(size); });
  put_text(token.replica, [&](unsigned size) { return builder.initReplica(size); });
}

std::size_t session_words(const WireSessionToken& token) {
  return 16 + text_words(token.home) + text_words(token.replica);
}

}  // namespace volvox
