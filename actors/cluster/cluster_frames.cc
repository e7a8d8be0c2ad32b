#include "actors/cluster/cluster_frames.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "actors/system/short_of_memory.h"
#include "actors/work/traces.h"
#include "protocol/codec/codec.h"

namespace volvox {
namespace {

ClusterBytes shared(WireBuffer buffer) {
  return std::make_shared<const WireBuffer>(std::move(buffer));
}

Result<WireBuffer> encode_body(const Outcome& outcome, const WireLimits& limits) {
  return unless_short_of_memory("the node has no memory for the result; try again later",
                                [&] { return encode_reply_body(outcome.outputs, limits); });
}

}  // namespace

ClusterResult result_frames(const ClusterAttempt& attempt, const Outcome& outcome, bool final,
                            std::uint32_t index, const WireLimits& limits) {
  ClusterResult result{attempt, final, nullptr, nullptr};
  ReplyHeader header;
  header.kind = final ? ReplyKind::kResult : ReplyKind::kPartial;
  header.final = final;
  header.index = index;
  header.cells = outcome.cells;
  header.model_version = outcome.model_version;
  header.timings = {outcome.queue_us, outcome.compute_us, 0};
  header.session = outcome.session;
  std::optional<Error> error = outcome.error;
  if (!error) {
    auto body = encode_body(outcome, limits);
    if (body) {
      result.body = shared(std::move(*body));
    } else {
      error = std::move(body).error();
    }
  }
  if (error) {
    result.final = header.final = true;
    header.kind = ReplyKind::kError;
    // A part of a session is done, whatever becomes of its result.
    header.undecided = outcome.error ? outcome.undecided : header.session.has_value();
    header.error = std::move(*error);
    header.retry_after_us = outcome.retry_after_us;
  }
  auto encoded = encode_reply_header(header, limits);
  if (encoded) result.header = shared(std::move(*encoded));
  return result;
}

Result<ReceivedResult> read_result(const ClusterResult& result, const WireLimits& limits) {
  if (!result.header) return invalid("a result has no header");
  auto header = decode_reply_header(result.header->bytes(), limits);
  if (!header) return tl::unexpected(std::move(header).error());
  ReceivedResult received;
  received.index = header->index;
  received.outcome.cells = header->cells;
  received.outcome.model_version = header->model_version;
  received.outcome.session = std::move(header->session);
  received.outcome.queue_us = header->timings.queue_us;
  received.outcome.compute_us = header->timings.compute_us;
  if (header->kind == ReplyKind::kError) {
    received.outcome.error = std::move(header->error);
    received.outcome.retry_after_us = header->retry_after_us;
    received.outcome.undecided = header->undecided;
    return received;
  }
  if (!result.body) return received;
  auto body = read_reply_body(result.body, limits);
  if (!body) return tl::unexpected(std::move(body).error());
  auto kept = std::make_shared<const ReplyBody>(std::move(*body));
  received.outcome.outputs = kept->outputs;
  received.outcome.owner = std::move(kept);
  received.outcome.encoded = result.body;
  return received;
}

Result<ClusterSubmit> submit_frames(const ClusterAttempt& attempt, const RequestPtr& request,
                                    std::shared_ptr<const WireBuffer> body, const AnswerSoFar& so_far,
                                    TimePoint now, const WireLimits& limits) {
  RequestHeader header = request->header;
  // The last row that the client has is wanted once more: an answer cannot begin behind its end.
  if (so_far.rows > 0) {
    header.stream_from = std::max(header.stream_from, so_far.rows - 1);
    if (header.model_version == 0) header.model_version = so_far.version;
  }
  std::uint64_t left = 0;
  if (header.deadline_us != 0) {
    const std::uint64_t passed = microseconds(now - request->arrival);
    left = header.deadline_us > passed ? header.deadline_us - passed : 1;
  }
  header.deadline_us = left;
  if (request->trace) set_trace_context(header, request->trace->child_context());
  auto encoded = encode_request_header(header, limits);
  if (!encoded) return tl::unexpected(std::move(encoded).error());
  return ClusterSubmit{attempt,
                       left,
                       shared(std::move(*encoded)),
                       std::move(body),
                       request->account,
                       request->connection,
                       so_far.version};
}

}  // namespace volvox
