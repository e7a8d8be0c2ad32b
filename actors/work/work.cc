#include "actors/work/work.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <caf/send.hpp>

#include "actors/sessions/session_token.h"
#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/work/messages.h"
#include "base/clock.h"

namespace volvox {

std::uint64_t microseconds(Duration span) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(span).count();
  return us > 0 ? static_cast<std::uint64_t>(us) : 0;
}

PriorityClass priority_class(WirePriority priority) {
  switch (priority) {
    case WirePriority::kHigh:
      return PriorityClass::kHigh;
    case WirePriority::kLow:
      return PriorityClass::kLow;
    case WirePriority::kNormal:
      break;
  }
  return PriorityClass::kNormal;
}

Duration time_given(const RequestHeader& header) {
  return wire_span(header.deadline_us == 0 ? std::numeric_limits<std::uint64_t>::max() : header.deadline_us);
}

TimePoint IncomingRequest::deadline() const {
  return header.deadline_us == 0 ? TimePoint::max() : arrival + time_given(header);
}

Outcome lost_outcome(const IncomingRequest& request) {
  Outcome lost;
  insist([&] {
    lost.error =
        Error{ErrorCode::kInternal,
              "the server lost this request when one of its parts failed; send it again, and see the "
              "server's log"};
  });
  lost.undecided = is_session_part(request.header);
  return lost;
}

void trace_answer(const IncomingRequest& request, const Outcome& outcome) {
  if (!request.trace) return;
  request.trace->end(outcome.error ? std::optional(outcome.error->code) : std::nullopt, outcome.cells);
  request.trace->reach(SpanStage::kReplied, steady_now());
}

std::size_t Outcome::bytes_to_encode() const {
  if (encoded) return 0;
  std::size_t bytes = 0;
  for (const WireTensor& output : outputs) bytes += output.bytes.size();
  return bytes;
}

bool ByteBudget::take(std::uint64_t bytes) {
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (left_.fetch_sub(wanted) >= wanted) return true;
  give_back(bytes);
  return false;
}

Work::~Work() {
  give_back_memory();
  if (!again || !device_place || settled() || !can_run_again()) return;
  hand_over();
  const WorkPtr next = insist([&] { return successor(); });
  insist([&] { caf::anon_send(again, RerunWork{next, device_place->device()}); });
}

void Work::give_back_memory() {
  unfolded.reset();
  if (budget_) budget_->give_back(reserved_bytes_);
  budget_ = nullptr;
}

WorkPtr Work::successor() {
  auto next = std::make_shared<Work>(nullptr, caf::actor());  // without memory for it this one still answers
  next->promise_ = promise_.pass_on();
  next->second_ = true;
  give_back_memory();
  return next;
}

bool Work::can_run_again() const {
  return !second_ && stream.sent == request().header.stream_from;
}

bool Work::reserve(std::shared_ptr<ByteBudget> budget, std::uint64_t bytes) {
  if (!budget->take(bytes)) return false;
  budget_ = std::move(budget);
  reserved_bytes_ = bytes;
  return true;
}

}  // namespace volvox
