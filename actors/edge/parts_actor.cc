#include "actors/edge/parts_actor.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "actors/edge/large_answer.h"
#include "actors/sessions/session_token.h"
#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"
#include "base/clock.h"

namespace volvox {
namespace {

// How long an answer waits for others. A server that is behind has hundreds of bundles under way, of which
// each has an answer now and then: messages with a few of them each would keep it behind. So what took long
// waits a little longer, an eighth, up to sixteen times as long as what is answered at once.
Duration gather_after(Duration took, Duration gather) {
  return std::clamp(took / 8, gather, 16 * gather);
}

// What many parts are told: but of those of sessions, perhaps, that they may have been done.
class SameAnswer {
 public:
  SameAnswer(Outcome outcome, bool perhaps_done) : of_others_(std::move(outcome)), of_sessions_(of_others_) {
    of_others_.undecided = false;
    of_sessions_.undecided = perhaps_done;
  }
  const Outcome& to(const IncomingRequest& part) const {
    return is_session_part(part.header) ? of_sessions_ : of_others_;
  }

 private:
  Outcome of_others_, of_sessions_;
};

class PartsShell {
 public:
  static constexpr const char* kName = "actor of parts";

  PartsShell(caf::event_based_actor* self, PartsSetup setup)
      : self_(self),
        setup_(std::move(setup)),
        // One that cannot be made answers nobody.
        states_(insist([this] { return std::vector<State>(setup_.parts.size()); })),
        running_(states_.size()) {
    take_over();
    arrived_ = setup_.parts.front()->arrival;
    deadline_ = setup_.parts.front()->deadline();
  }

  // Whoever still waits is told that nobody knows.
  ~PartsShell() {
    const auto left = std::ranges::find(states_, false, &State::answered);
    if (left != states_.end())
      answer_all(lost_outcome(*setup_.parts[static_cast<std::size_t>(left - states_.begin())]));
  }
  PartsShell(const PartsShell&) = delete;
  PartsShell& operator=(const PartsShell&) = delete;

  caf::behavior behavior() {
    if (setup_.runner) return waiting();
    Outcome outcome;
    outcome.error = Error{ErrorCode::kUnavailable, kNoRunner};
    answer_all(outcome, false);
    self_->quit();
    return handlers();
  }

 private:
  // Of a part.
  struct State {
    bool answered = false;
    bool given_up = false;  // the runner was told
    bool ended = false;     // the runner has said how
  };

  caf::message_handler handlers() {
    return {[this](const AnswersReady& ready) {
              take_over();
              answers_ready(ready.group);
            },
            [this](const CancelIds& ids) {
              take_over();
              give_up(ErrorCode::kCancelled, kCancelledByClient, [&](const IncomingRequest& part) {
                return part.header.request_id - ids.first < ids.count && part.client == *ids.client;
              });
            },
            [this](const ClientLost& lost) {
              take_over();
              give_up(ErrorCode::kCancelled, lost.silent ? kSaidNothing : kCancelledByClient,
                      [&](const IncomingRequest& part) { return part.client == *lost.client; });
            },
            [this](AbortAtom) {
              give_up(ErrorCode::kUnavailable,
                      "the server shut down before the request ended; send it elsewhere");
            }};
  }

  // A receive timeout dies with its actor, but each message sets it anew: it is made as long as it has to be
  // after each.
  caf::behavior waiting() {
    const TimePoint at = std::min(flush_at_.value_or(TimePoint::max()), deadline_);
    if (at == TimePoint::max()) return handlers();
    // Never zero: CAF renews a zero timeout for ever, before it lets the actor act on it.
    const Duration left = std::max<Duration>(std::chrono::microseconds(1), at - steady_now());
    return handlers().or_else(caf::after(left) >> [this] { time_passed(); });
  }

  void time_passed() {
    const TimePoint now = steady_now();
    if (flush_at_ && *flush_at_ <= now) flush();
    if (deadline_ <= now) return give_up(ErrorCode::kDeadlineExceeded, kTooLate);
    if (running_ > 0) self_->become(waiting());
  }

  void answers_ready(const AnswerGroupPtr& group) {
    group_ = group;
    if (group->complete() || !setup_.bundle) {
      flush();
    } else if (!flush_at_) {
      const TimePoint now = steady_now();
      flush_at_ = now + gather_after(now - arrived_, setup_.bundle->gather);
    }
    if (running_ > 0) self_->become(waiting());
  }

  void flush() {
    flush_at_.reset();
    const AnswerGroup::Answers answers = group_->take();
    std::vector<Answered> answered;
    answered.reserve(answers.size());
    for (const auto& [place, outcome] : answers) {
      State& state = states_[place];
      state.ended = true;
      setup_.parts[place]->leave();
      --running_;
      if (!std::exchange(state.answered, true)) answered.push_back({place, &outcome});
    }
    reply(answered);
    for (const auto& [place, outcome] : answers) setup_.parts[place] = nullptr;
    if (running_ == 0) self_->quit();
  }

  template <class Which>
  void give_up(ErrorCode code, const char* message, Which which) {
    auto keys = std::make_shared<std::vector<std::uint64_t>>();
    std::vector<Answered> answered;
    // What takes memory comes before a part counts as answered.
    Outcome outcome;
    outcome.error = Error{code, message};
    const SameAnswer answer(std::move(outcome), true);
    keys->reserve(states_.size());
    answered.reserve(states_.size());
    for (std::size_t place = 0; place < states_.size(); ++place) {
      State& state = states_[place];
      if (state.ended || state.answered || !which(*setup_.parts[place])) continue;
      const bool is_elsewhere = is_decided_at_home(setup_.parts[place]->header, code);
      if (state.given_up && is_elsewhere) continue;
      if (!std::exchange(state.given_up, true)) keys->push_back(setup_.parts[place]->key);
      if (is_elsewhere) continue;
      if (!setup_.parts[place]->end.give_up(code)) continue;
      state.answered = true;
      answered.push_back({place, &answer.to(*setup_.parts[place])});
    }
    if (code == ErrorCode::kDeadlineExceeded) deadline_ = TimePoint::max();
    if (!keys->empty()) {
      hand_over();
      self_->send(setup_.runner, CancelWorks{std::move(keys), code});
    }
    reply(answered);
    if (running_ > 0) self_->become(waiting());
  }
  void give_up(ErrorCode code, const char* message) {
    give_up(code, message, [](const IncomingRequest&) { return true; });
  }

  struct Answered {
    std::size_t place = 0;
    const Outcome* outcome = nullptr;
  };

  void reply(const std::vector<Answered>& answered) {
    if (answered.empty()) return;
    if (setup_.bundle) return reply_bundled(answered);
    for (const auto& [place, outcome] : answered) {
      ReplyTicket ticket(setup_.sink, setup_.parts[place]);
      answer_or_leave(*self_, ticket, *outcome);
    }
  }

  void reply_bundled(const std::vector<Answered>& answered) {
    const auto parts = insist([&] {
      std::vector<ReplySink::Answered> all;
      all.reserve(answered.size());
      for (const auto& [place, outcome] : answered) all.push_back({setup_.parts[place].get(), outcome});
      return all;
    });
    setup_.sink->answer_parts(setup_.bundle->first_id, parts);
    for (const auto& [part, outcome] : parts) trace_answer(*part, *outcome);
  }

  // All that have no answer. `perhaps_done`: a part of a session may have been done.
  void answer_all(const Outcome& outcome, bool perhaps_done = true) {
    const SameAnswer answer = insist([&] { return SameAnswer(outcome, perhaps_done); });
    const std::vector<Answered> answered = insist([&] {
      std::vector<Answered> all;
      for (std::size_t place = 0; place < states_.size(); ++place) {
        if (!states_[place].answered) all.push_back({place, &answer.to(*setup_.parts[place])});
      }
      return all;
    });
    for (State& state : states_) state.answered = true;
    reply(answered);
  }

  caf::event_based_actor* self_;
  PartsSetup setup_;
  std::vector<State> states_;
  std::size_t running_;  // parts of which the runner has not said how they ended
  TimePoint arrived_{};
  TimePoint deadline_;
  std::optional<TimePoint> flush_at_;  // nothing: no answer waits
  AnswerGroupPtr group_;               // once something lies there
};

// One that waits for its answers only needs no thread before that.
caf::actor spawn(caf::actor_system& system, PartsSetup setup) {
  const bool waits = setup.runner && setup.parts.front()->header.deadline_us == 0;
  hand_over();
  if (waits) return spawn_shell<PartsShell, caf::lazy_init>(system, std::move(setup));
  return spawn_shell<PartsShell>(system, std::move(setup));
}

}  // namespace

caf::actor spawn_parts_actor(caf::actor_system& system, PartsSetup setup) {
  const caf::actor runner = setup.runner;
  const std::vector<RequestPtr> parts = setup.parts;
  caf::actor actor = spawn(system, std::move(setup));
  if (!runner) return actor;
  const auto group = std::make_shared<AnswerGroup>(parts.size(), actor);
  auto works = std::make_shared<std::vector<WorkPtr>>();
  works->reserve(parts.size());
  try {
    for (std::uint32_t place = 0; place < parts.size(); ++place)
      works->push_back(std::make_shared<Work>(parts[place], group, place));
  } catch (...) {
    // The actor waits for all of them, and keeps their shares until then.
    for (auto place = static_cast<std::uint32_t>(works->size()); place < parts.size(); ++place)
      group->put(place, insist([&] { return lost_outcome(*parts[place]); }));
    throw;
  }
  hand_over();
  caf::anon_send(runner, RunWorks{std::move(works)});
  // The actor may have said before they came that their time is over, to a runner that did not know them.
  if (steady_now() >= parts.front()->deadline()) {
    auto keys = std::make_shared<std::vector<std::uint64_t>>();
    for (const RequestPtr& part : parts) keys->push_back(part->key);
    hand_over();
    caf::anon_send(runner, CancelWorks{std::move(keys), ErrorCode::kDeadlineExceeded});
  }
  return actor;
}

}  // namespace volvox
