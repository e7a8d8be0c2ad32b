#include "actors/edge/reply_headers.h"

#include "base/clock.h"
#include "serving/retry_spread.h"

namespace volvox {

ReplyHeader reply_header(const IncomingRequest& request, const Outcome& outcome) {
  ReplyHeader header;
  header.request_id = request.header.request_id;
  header.cells = outcome.cells;
  header.model_version = outcome.model_version;
  header.session = outcome.session;
  header.timings = {outcome.queue_us, outcome.compute_us, microseconds(steady_now() - request.arrival)};
  if (outcome.error) {
    header.kind = ReplyKind::kError;
    header.error = *outcome.error;
    header.retry_after_us = spread_retry_us(outcome.retry_after_us, request.key);
    header.undecided = outcome.undecided;
  }
  return header;
}

PartReply part_reply(std::uint32_t number, const IncomingRequest& request, const Outcome& outcome,
                     TimePoint now, std::deque<Result<ReplyBody>>& content, const WireLimits& limits) {
  PartReply reply;
  reply.part = number;
  reply.token = outcome.session ? &*outcome.session : nullptr;
  reply.cells = outcome.cells;
  reply.timings = {outcome.queue_us, outcome.compute_us, microseconds(now - request.arrival)};
  if (outcome.error) {
    reply.error = &*outcome.error;
    reply.undecided = outcome.undecided;
    reply.retry_after_us = spread_retry_us(outcome.retry_after_us, request.key);
  } else if (outcome.encoded) {
    auto& body = content.emplace_back(read_reply_body(outcome.encoded, limits));
    if (body) {
      reply.outputs = body->outputs;
    } else {
      reply.error = &body.error();
      reply.undecided = reply.token != nullptr;
    }
  } else {
    reply.outputs = outcome.outputs;
  }
  return reply;
}

ReplyHeader bundle_header(std::uint64_t first_id, bool encoded) {
  ReplyHeader header;
  if (!encoded) {
    header = error_reply(
        first_id, {ErrorCode::kInternal, "the answers to the bundle could not be encoded; see the log"});
    header.undecided = true;
    return header;
  }
  header.kind = ReplyKind::kBundle;
  header.request_id = first_id;
  header.final = false;
  return header;
}

}  // namespace volvox
