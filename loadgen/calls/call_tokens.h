#pragma once

#include <cstdint>
#include <vector>

#include "loadgen/calls/call_link.h"
#include "protocol/client/session_stream.h"

namespace volvox {

// The sessions' tokens of the calls in a link's slots. One thread.
class CallTokens {
 public:
  explicit CallTokens(std::uint32_t slots) : calls_(slots) {}

  // As which part of its call's session the frame goes out; the first begins one.
  WireSessionToken of(const CallFrame& frame) {
    Call& call = calls_[frame.call];
    if (frame.number == 0 && !frame.repeated) call = {SessionStream::begin(), frame.ticket};
    WireSessionToken token = call.stream.next(frame.last);
    token.sequence = frame.number;  // which may be ahead of the newest answer
    return token;
  }
  // A good answer to the frame with this ticket.
  void answered(std::uint64_t ticket, const WireSessionToken& token) {
    Call& call = calls_[CallFrame::slot_of(ticket)];
    if (ticket >= call.first_ticket) call.stream.take(token);
  }
  bool contains(std::uint64_t ticket) const { return CallFrame::slot_of(ticket) < calls_.size(); }

 private:
  struct Call {
    SessionStream stream{0};
    std::uint64_t first_ticket = 0;  // of its begin: answers to earlier calls in the slot say nothing of it
  };
  std::vector<Call> calls_;
};

}  // namespace volvox
