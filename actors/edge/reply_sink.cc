#include "actors/edge/reply_sink.h"

#include <utility>

#include "actors/sessions/session_token.h"

namespace volvox {

void ReplySink::answer_parts(std::uint64_t, std::span<const Answered> parts) {
  for (const Answered& part : parts) answer(*part.request, *part.outcome);
}

bool ReplySink::partial(const IncomingRequest&, std::uint32_t, const Outcome&) {
  return false;
}

ReplyTicket::~ReplyTicket() {
  if (used()) return;
  answer(lost_outcome(*request_));
}

bool ReplyTicket::partial(std::uint32_t index, const Outcome& part) {
  return sink_ == nullptr || sink_->partial(*request_, index, part);
}

void ReplyTicket::answer(const Outcome& outcome) {
  const auto sink = std::exchange(sink_, nullptr);
  if (!sink) return;
  sink->answer(*request_, outcome);
  trace_answer(*request_, outcome);
}

void ReplyTicket::answer(ErrorCode code, const char* message) {
  Outcome outcome;
  outcome.error = Error{code, message};
  answer(outcome);
}

}  // namespace volvox
