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

// What the client has of a streamed answer, and the version of the model that it is of, or is to be of.
struct AnswerSoFar {
  std::uint32_t rows = 0;
  std::uint32_t version = 0;  // 0: not known, or the session's
};

// What a node needs of a request: its header as the client sent it, but for the rows of a streamed answer
// that the client has, which the others must be of one version with, and its body (IncomingBody::message).
Result<ClusterSubmit> submit_frames(const ClusterAttempt& attempt, const RequestPtr& request,
                                    std::shared_ptr<const WireBuffer> body, const AnswerSoFar& so_far,
                                    TimePoint now, const WireLimits& limits);

}  // namespace volvox
