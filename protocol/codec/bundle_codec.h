#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "protocol/bundle.h"
#include "protocol/limits.h"

namespace volvox {

// Bundles ↔ bytes, as protocol/codec/codec.h: bytes come from strangers, nothing throws, any thread.

// Reads in place; `storage` as for read_request_body. INVALID_ARGUMENT refuses the bundle as a whole: columns
// or inputs do not fit the number of parts, or their steps. That a part's own token makes no sense is its own
// affair: TokenColumns::asked() says so.
Result<RequestBundle> read_request_bundle(std::shared_ptr<const WireBuffer> storage,
                                          const WireLimits& limits);
Result<ReplyBundle> read_reply_bundle(std::shared_ptr<const WireBuffer> storage, const WireLimits& limits);

// Borrow what the argument views until they return.
Result<WireBuffer> encode_request_bundle(const RequestBundle& bundle, const WireLimits& limits);

// The answer to one part, to be written. Borrowed until it is.
struct PartReply {
  std::uint32_t part = 0;
  const WireSessionToken* token = nullptr;  // null: the part stands alone
  std::span<const WireTensor> outputs{};
  std::uint32_t cells = 0;
  WireTimings timings{};
  const Error* error = nullptr;  // null: it is done
  bool undecided = false;        // with an error
  std::uint64_t retry_after_us = 0;
};

// How many of these, from the first on, can travel in one message: outputs of one bundle differ in nothing
// but their first dimension, and a message has its limit. At least 1, unless there are none.
std::size_t bundled_replies(std::span<const PartReply> replies, const WireLimits& limits);
// Replies that bundled_replies() has counted.
Result<WireBuffer> encode_reply_bundle(std::span<const PartReply> replies, const WireLimits& limits);

}  // namespace volvox
