#pragma once

#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/edge/reply_sink.h"

namespace volvox {

// An answer that takes long to write down, with the right to give it.
class LargeAnswer {
 public:
  LargeAnswer(ReplyTicket ticket, Outcome outcome)
      : ticket_(std::move(ticket)), outcome_(std::move(outcome)) {}

  void write() { ticket_.answer(outcome_); }

 private:
  ReplyTicket ticket_;
  Outcome outcome_;
};

// request actor → reader of large bodies, which writes large answers, too.
struct WriteAnswer {
  std::shared_ptr<LargeAnswer> answer;
};

// Answers; or leaves that to the writer: to write down what is large takes the time of many small answers,
// whose actors wait for this thread too. Waits for memory, as others may wait behind it for theirs. Called by
// the actor that owns the ticket.
void answer_or_leave(caf::event_based_actor& self, ReplyTicket& ticket, const Outcome& outcome);

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::WriteAnswer)
