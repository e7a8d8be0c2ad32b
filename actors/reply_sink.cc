#include "actors/reply_sink.h"

#include <utility>

namespace volvox {

bool ReplySink::partial(const IncomingRequest&, std::uint32_t, const Outcome&) {
  return false;
}

ReplyTicket::~ReplyTicket() {
  answer(ErrorCode::kInternal, "the server lost this request; send it again, and see the server's log");
}

bool ReplyTicket::partial(std::uint32_t index, const Outcome& part) {
  return sink_ == nullptr || sink_->partial(*request_, index, part);
}

void ReplyTicket::answer(const Outcome& outcome) {
  if (const auto sink = std::exchange(sink_, nullptr)) sink->answer(*request_, outcome);
}

void ReplyTicket::answer(ErrorCode code, const char* message) {
  Outcome outcome;
  outcome.error = Error{code, message};
  answer(outcome);
}

}  // namespace volvox
