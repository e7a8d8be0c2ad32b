#pragma once

#include <cstdint>
#include <deque>

#include "actors/work/work.h"
#include "base/error.h"
#include "base/time.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"
#include "protocol/limits.h"

namespace volvox {

// What clients are told of how their requests ended.
ReplyHeader reply_header(const IncomingRequest& request, const Outcome& outcome);

// Of a part of a bundle. Refers to the outcome; `content` holds what another process has encoded, for as long
// as the reply is used.
PartReply part_reply(std::uint32_t number, const IncomingRequest& request, const Outcome& outcome,
                     TimePoint now, std::deque<Result<ReplyBody>>& content, const WireLimits& limits);

// Of answers to some parts; or, if they could not be encoded, of the one that each part gets which has none
// yet, and of which nobody knows.
ReplyHeader bundle_header(std::uint64_t first_id, bool encoded);

}  // namespace volvox
