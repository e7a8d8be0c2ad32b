#include "actors/work/answer_group.h"

#include <algorithm>

#include <caf/send.hpp>

#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/work/messages.h"

namespace volvox {
namespace {

// Room for so many answers at first: of a large bundle a few come between two messages, mostly.
constexpr std::size_t kFirst = 16;

}  // namespace

AnswerGroup::AnswerGroup(std::size_t parts, caf::actor actor) : actor_(std::move(actor)), left_(parts) {}

AnswerGroup::~AnswerGroup() = default;

void AnswerGroup::put(std::uint32_t place, Outcome&& outcome) {
  bool tell = false;
  insist([&] {
    const std::lock_guard lock(mutex_);
    tell = answers_.empty();
    if (tell) answers_.reserve(std::min(left_, kFirst));
    answers_.emplace_back(place, std::move(outcome));  // moved once there is memory for it
    tell = --left_ == 0 || tell;
  });
  if (!tell) return;
  hand_over();
  insist([&] { caf::anon_send(actor_, AnswersReady{shared_from_this()}); });
}

AnswerGroup::Answers AnswerGroup::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

bool AnswerGroup::complete() const {
  const std::lock_guard lock(mutex_);
  return left_ == 0;
}

}  // namespace volvox
