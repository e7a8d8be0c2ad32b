#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/keyed_hash.h"
#include "protocol/limits.h"
#include "protocol/messages.h"

namespace volvox {

// Bytes that the body takes as a message, at most; or what encode_request_body has against it. Any thread.
Result<std::size_t> encoded_size(const RequestBody& body, const WireLimits& limits);

// What a door has decoded lies in many places: lists read from text, parts of a content. A device reads a
// request's inputs from one block, and whoever decoded them wants to forget where they came from. This copies
// all that the body views into one buffer, 64-byte aligned, which is then its storage: the inputs first, each
// 8-byte aligned as in a message, then the structure's arrays and the names. It refuses what
// encode_request_body would refuse, with the same words, and the buffer is no larger than the message would
// be. Any thread.
Result<RequestBody> pack_request_body(const RequestBody& body, const WireLimits& limits);

// Of all that the body says, wherever it lies.
Digest digest_of(const RequestBody& body, const HashKey& key);

}  // namespace volvox
