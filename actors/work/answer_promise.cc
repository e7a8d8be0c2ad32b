#include "actors/work/answer_promise.h"

#include <utility>

#include <caf/send.hpp>

#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/work/messages.h"
#include "actors/work/work.h"

namespace volvox {
namespace {

void note_version(const IncomingRequest& request, Outcome& outcome) {
  if (outcome.error || outcome.model_version != 0) return;
  if (outcome.session) {
    outcome.model_version = outcome.session->model_version;
  } else if (request.model) {
    outcome.model_version = request.model->model->version;
  }
}

}  // namespace

AnswerPromise::AnswerPromise(RequestPtr request, caf::actor reply_to)
    : request_(std::move(request)), reply_to_(std::move(reply_to)) {}

AnswerPromise::AnswerPromise(RequestPtr request, AnswerGroupPtr group, std::uint32_t place)
    : request_(std::move(request)), group_(std::move(group)), place_(place) {}

AnswerPromise& AnswerPromise::operator=(AnswerPromise&& other) noexcept {
  const AnswerPromise broken(std::move(*this));
  request_ = std::move(other.request_);
  reply_to_ = std::move(other.reply_to_);
  group_ = std::move(other.group_);
  place_ = other.place_;
  kept_ = other.kept_;
  return *this;
}

AnswerPromise::~AnswerPromise() {
  if (!kept_ && (group_ || reply_to_)) keep(lost_outcome(*request_));
}

void AnswerPromise::keep(Outcome&& outcome) {
  if (std::exchange(kept_, true)) return;
  if (const AnswerGroupPtr group = std::move(group_)) return group->put(place_, std::move(outcome));
  if (!reply_to_) return;
  note_version(*request_, outcome);
  hand_over();
  FinishRequest finish{std::move(outcome)};
  insist([&] { caf::anon_send(reply_to_, std::move(finish)); });  // moved once there is memory for it
  reply_to_ = nullptr;
}

void AnswerPromise::keep(Error error, std::uint64_t retry_after_us) {
  Outcome outcome;
  outcome.error = std::move(error);
  outcome.retry_after_us = retry_after_us;
  keep(std::move(outcome));
}

void AnswerPromise::keep_partly(std::uint32_t index, Outcome part) {
  if (kept_ || !reply_to_) return;
  note_version(*request_, part);
  hand_over();
  caf::anon_send(reply_to_, PartialResult{index, std::make_shared<const Outcome>(std::move(part))});
}

AnswerPromise AnswerPromise::pass_on() {
  AnswerPromise passed(std::move(*this));
  request_ = passed.request_;
  kept_ = true;
  return passed;
}

}  // namespace volvox
