#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "protocol/limits.h"
#include "protocol/messages.h"

namespace volvox {

// Messages ↔ bytes. Bytes come from strangers: every decoder takes any bytes at any address, bounds what it
// allocates by `limits` and by the bytes' own length, and answers what is wrong as INVALID_ARGUMENT (or
// UNSUPPORTED_VERSION); nothing throws. Encoders apply the same limits, so that what one side sends the other
// accepts. Plain functions without state: any thread, any number at once.

// One header's bytes → header. `request_id`, unless null, receives the id as soon as it can be read (0
// before), so that even a refusal can be addressed.
Result<RequestHeader> decode_request_header(std::span<const std::byte> bytes, const WireLimits& limits,
                                            std::uint64_t* request_id = nullptr);
Result<ReplyHeader> decode_reply_header(std::span<const std::byte> bytes, const WireLimits& limits,
                                        std::uint64_t* request_id = nullptr);

Result<WireBuffer> encode_request_header(const RequestHeader& header, const WireLimits& limits);
// An error's text is cleaned and cut to kMaxErrorTextBytes. Encoders of replies throw std::bad_alloc where
// memory is short: that an answer was not written for want of it must not be the answer.
Result<WireBuffer> encode_reply_header(const ReplyHeader& header, const WireLimits& limits);

// Reads a body in place. `storage` must come from WireBuffer::copy_of or share_copy_of; the views in the
// result borrow from it and hold it. Every tensor's bytes are 8-byte aligned, since Cap'n Proto aligns each
// object to a word and the buffer is aligned. Checked here: names, ranks, shapes against bytes, indices of
// the structure. Not checked: what a model wants.
Result<RequestBody> read_request_body(std::shared_ptr<const WireBuffer> storage, const WireLimits& limits);
Result<ReplyBody> read_reply_body(std::shared_ptr<const WireBuffer> storage, const WireLimits& limits);

// The same from bytes anywhere: one copy into an aligned buffer, then as above. Bytes beyond the limit are
// not copied.
Result<RequestBody> decode_request_body(std::span<const std::byte> bytes, const WireLimits& limits);
Result<ReplyBody> decode_reply_body(std::span<const std::byte> bytes, const WireLimits& limits);

// Borrow what the arguments view until they return.
Result<WireBuffer> encode_request_body(const RequestBody& body, const WireLimits& limits);
Result<WireBuffer> encode_reply_body(std::span<const WireTensor> outputs, const WireLimits& limits);

}  // namespace volvox
