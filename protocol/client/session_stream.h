#pragma once

#include <cstdint>
#include <optional>

#include "protocol/messages.h"
#include "protocol/request.h"

namespace volvox {

// The token of a session must be sent back with each part, and parts are numbered. This keeps both for one
// session whose parts are sent one after the other:
//
//   SessionStream session = SessionStream::begin();
//   ClientRequest part = chain_request("lstm", "tokens", std::span(tokens));
//   session.stamp(part);
//   const Reply reply = client->submit(part).get();
//   session.take(reply);  // only a good answer goes on to the next part: stamp the same again to repeat it
//
// A plain value; one thread at a time.
class SessionStream {
 public:
  // With a nonce of 128 random bits: a begin whose answer was lost can be sent again, over any connection.
  static SessionStream begin();
  // With this nonce; 0: the begin is not to be repeated.
  explicit SessionStream(std::uint64_t nonce) : nonce_(nonce) {}
  // Goes on after the part that was answered with this token.
  explicit SessionStream(WireSessionToken answered);

  // Makes the request the session's next part; `last`: the session ends with it.
  void stamp(ClientRequest& request, bool last = false) const;
  // The same part's token, for a bundle (BundleParts::add).
  WireSessionToken next(bool last = false) const;
  // The answer to the part that was stamped last. False: it failed, and the session is where it was, unless
  // the reply says that nobody knows.
  bool take(const Reply& reply);
  // The same of a part in a bundle: it is done, and this is its token; or it failed.
  void take(const WireSessionToken& token);
  void failed(ErrorCode code, bool undecided);
  // Whether the part that was stamped last may have been done although it failed: then it must be repeated
  // with the same content, not replaced by another, until one of its answers decides.
  bool undecided() const { return undecided_; }

  // Parts that were answered well.
  std::uint64_t parts() const { return parts_; }
  // Of the newest answer; nothing before the first.
  const std::optional<WireSessionToken>& token() const { return token_; }

 private:
  std::uint64_t nonce_ = 0, nonce_hi_ = 0;
  std::uint64_t parts_ = 0;
  std::optional<WireSessionToken> token_;
  bool undecided_ = false;
};

// A request that ends a session of `model` and runs nothing, to be stamped as the last one.
ClientRequest end_request(std::string model);

}  // namespace volvox
