#include "protocol/client/session_stream.h"

#include <utility>

#include "base/random_number.h"

namespace volvox {

SessionStream SessionStream::begin() {
  SessionStream stream(random_identity().value());
  stream.nonce_hi_ = random_identity().value();
  return stream;
}

SessionStream::SessionStream(WireSessionToken answered)
    : parts_(answered.sequence + 1), token_(std::move(answered)) {}

void SessionStream::stamp(ClientRequest& request, bool last) const {
  request.header.session = next(last);
}

WireSessionToken SessionStream::next(bool last) const {
  WireSessionToken token = token_.value_or(WireSessionToken{});
  token.operation = SessionOperation::kBegin;
  if (token_) token.operation = last ? SessionOperation::kEnd : SessionOperation::kContinue;
  token.nonce = nonce_;
  token.nonce_hi = nonce_hi_;
  token.sequence = parts_;
  return token;
}

bool SessionStream::take(const Reply& reply) {
  if (const Status ok = reply.status(); !ok) failed(ok.error().code, reply.header.undecided);
  if (!reply.status() || !reply.header.session) return false;
  take(*reply.header.session);
  return true;
}

// An error that leaves no trace says nothing of another try of the same part, unless it is that of the
// session's home.
void SessionStream::failed(ErrorCode code, bool undecided) {
  const bool decides = code == ErrorCode::kInvalidArgument || code == ErrorCode::kSessionLost ||
                       code == ErrorCode::kSessionExpired;
  undecided_ = undecided || (undecided_ && !decides);
}

void SessionStream::take(const WireSessionToken& token) {
  undecided_ = false;
  token_ = token;
  ++parts_;
}

ClientRequest end_request(std::string model) {
  ClientRequest request;
  request.header.model = std::move(model);
  request.body.structure = ChainStructure{0};
  return request;
}

}  // namespace volvox
