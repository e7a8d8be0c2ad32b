#pragma once

#include "actors/work/work.h"
#include "base/error.h"
#include "protocol/cluster/cluster_messages.h"
#include "protocol/limits.h"

namespace volvox {

// A request and its answer travel between router and node as the frames that a client would see.

// The frames of a part of the answer (`final` false), or of its end. Never fails: what cannot be encoded
// becomes an error's frames.
ClusterResult result_frames(const ClusterAttempt& attempt, const Outcome& outcome, bool final,
                            std::uint32_t index, const WireLimits& limits);

// The way back. `index` is the part's number.
struct ReceivedResult {
  Outcome outcome;
  std::uint32_t index = 0;
};
Result<ReceivedResult> read_result(const ClusterResult& result, const WireLimits& limits);

// What a node needs of a request: its header as the client sent it, but for the parts of a streamed answer
// that the client has, and its body (IncomingBody::message).
Result<ClusterSubmit> submit_frames(const ClusterAttempt& attempt, const RequestPtr& request,
                                    std::shared_ptr<const WireBuffer> body, std::uint32_t stream_from,
                                    TimePoint now, const WireLimits& limits);

}  // namespace volvox
