#include "protocol/session_stream.h"

#include <utility>

namespace volvox {

SessionStream::SessionStream(WireSessionToken answered)
    : parts_(answered.sequence + 1), token_(std::move(answered)) {}

void SessionStream::stamp(ClientRequest& request, bool last) const {
  WireSessionToken token = token_.value_or(WireSessionToken{});
  token.operation = SessionOperation::kBegin;
  if (token_) token.operation = last ? SessionOperation::kEnd : SessionOperation::kContinue;
  token.nonce = nonce_;
  token.sequence = parts_;
  request.header.session = std::move(token);
}

bool SessionStream::take(const Reply& reply) {
  if (!reply.status() || !reply.header.session) return false;
  token_ = reply.header.session;
  ++parts_;
  return true;
}

ClientRequest end_request(std::string model) {
  ClientRequest request;
  request.header.model = std::move(model);
  request.body.structure = WireChain{0};
  return request;
}

}  // namespace volvox
