#pragma once

#include <cstdint>
#include <memory>

#include <caf/actor.hpp>

#include "actors/work/answer_group.h"
#include "base/error.h"

namespace volvox {

struct IncomingRequest;
struct Outcome;

// That whoever waits for a request's answer gets one, whatever fails: destroyed without having been kept, it
// tells them INTERNAL. Owned by whoever must answer next; one thread at a time.
class AnswerPromise {
 public:
  // Nobody waits.
  AnswerPromise() = default;
  // `reply_to` is the request's actor; invalid: nobody waits.
  AnswerPromise(std::shared_ptr<const IncomingRequest> request, caf::actor reply_to);
  // Of a part of a bundle, which is answered with the others, by its place among them.
  AnswerPromise(std::shared_ptr<const IncomingRequest> request, AnswerGroupPtr group, std::uint32_t place);
  AnswerPromise(AnswerPromise&&) noexcept = default;  // nobody waits for what is left
  // Breaks the one that was here.
  AnswerPromise& operator=(AnswerPromise&& other) noexcept;
  ~AnswerPromise();

  // Of the request; null only where there never was one, or after a move.
  const std::shared_ptr<const IncomingRequest>& request() const { return request_; }
  // The outcome goes to whoever waits. The first call counts.
  void keep(Outcome&& outcome);
  void keep(Error error, std::uint64_t retry_after_us);
  // A part of it. Parts are numbered by the caller, ascending.
  void keep_partly(std::uint32_t index, Outcome part);
  bool kept() const { return kept_; }
  // All of it, for somebody else to keep. What stays counts as kept, and still knows its request.
  AnswerPromise pass_on();

 private:
  std::shared_ptr<const IncomingRequest> request_;
  caf::actor reply_to_;
  AnswerGroupPtr group_;  // in its place; null: it came alone
  std::uint32_t place_ = 0;
  bool kept_ = false;
};

}  // namespace volvox
