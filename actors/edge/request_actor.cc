#include "actors/edge/request_actor.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "actors/edge/large_answer.h"
#include "actors/sessions/session_token.h"
#include "actors/system/handoff.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"
#include "actors/work/traces.h"
#include "base/clock.h"
#include "monitoring/log/logging.h"

namespace volvox {
namespace {

struct RequestSetup {
  std::shared_ptr<ReplySink> sink;
  caf::actor runner;
  RequestPtr request;
};

class RequestShell {
 public:
  static constexpr const char* kName = "request actor";

  RequestShell(caf::event_based_actor* self, RequestSetup setup)
      : self_(self), runner_(std::move(setup.runner)), ticket_(std::move(setup.sink), take(setup)) {}

  caf::behavior behavior() {
    if (runner_) return waiting();
    ticket_.answer(ErrorCode::kUnavailable, kNoRunner);
    self_->quit();
    return handlers();
  }

 private:
  caf::message_handler handlers() {
    return {[this](const FinishRequest& finish) {
              take_over();
              ticket_.request().leave();
              answer_or_leave(*self_, ticket_, finish.outcome);
              self_->quit();
            },
            [this](const PartialResult& partial) {
              take_over();
              forward(partial);
            },
            [this](DeadlineAtom) { give_up(ErrorCode::kDeadlineExceeded, kTooLate); },
            [this](CancelAtom) { give_up(ErrorCode::kCancelled, kCancelledByClient); },
            [this](const CancelIds&) { give_up(ErrorCode::kCancelled, kCancelledByClient); },
            [this](const ClientLost& lost) {
              give_up(ErrorCode::kCancelled, lost.silent ? kSaidNothing : kCancelledByClient);
            },
            [this](AbortAtom) {
              give_up(ErrorCode::kUnavailable,
                      "the server shut down before the request ended; send it elsewhere");
            }};
  }

  // What passes from the door's thread to this one.
  static RequestPtr take(RequestSetup& setup) {
    take_over();
    return std::move(setup.request);
  }

  void forward(const PartialResult& partial) {
    if (ticket_.partial(partial.index, *partial.part)) return self_->become(waiting());
    constexpr bool kEvenIfEnded = true;  // the end of an answer without its middle is none
    give_up(ErrorCode::kOverloaded,
            "replies pile up, and a part of the answer found no room; read faster, and go on from where it "
            "ended",
            kEvenIfEnded);
  }

  // A receive timeout dies with its actor; a delayed message would keep it alive until then. But each message
  // sets it anew, as long as it was: it has to be made shorter after each.
  caf::behavior waiting() {
    const IncomingRequest& request = ticket_.request();
    if (request.header.deadline_us == 0 || given_up_ || ticket_.used()) return handlers();
    // Never zero: CAF renews a zero timeout for ever, before it lets the actor act on it.
    const Duration left = std::max<Duration>(std::chrono::microseconds(1), request.deadline() - steady_now());
    return handlers().or_else(caf::after(left) >>
                              [this] { give_up(ErrorCode::kDeadlineExceeded, kTooLate); });
  }

  // Answers at once, unless the answer is on its way, and stays until the request has really ended: only then
  // is its share of the bounds free.
  void give_up(ErrorCode code, const char* message, bool even_if_ended = false) {
    const bool at_home = is_decided_at_home(ticket_.request().header, code);
    if (ticket_.used() || (given_up_ && at_home)) return;  // whose part may be cancelled again and again
    given_up_ = true;
    // Before anybody is told, who may not find it: it may be on its way from one device to another.
    const bool in_time = !at_home && ticket_.request().end.give_up(code);
    self_->send(runner_, CancelWork{ticket_.request().key, code});
    self_->become(handlers());
    if (at_home) return;
    if (!in_time && !even_if_ended) return;
    Outcome outcome;
    outcome.error = Error{code, message};
    outcome.undecided = is_session_part(ticket_.request().header);
    ticket_.answer(outcome);
  }

  caf::event_based_actor* self_;
  caf::actor runner_;
  ReplyTicket ticket_;
  bool given_up_ = false;
};

// Parts of sessions are read by the manager, but what is large by this thread, where nobody else waits for
// it. Their deadline is the manager's to keep, who may have been told that it is over before the part came.
void hand_on_part(const caf::actor& runner, const WorkPtr& work, const Dispatcher* dispatcher) {
  const RequestPtr request = work->shared_request();
  const bool reads = dispatcher != nullptr && request->body.size() > Dispatcher::kSmallBody;
  if (reads) dispatcher->read_ahead(*work);
  hand_over();
  caf::anon_send(runner, RunWork{work});
  if (steady_now() < request->deadline()) return;
  caf::anon_send(runner, CancelWork{request->key, ErrorCode::kDeadlineExceeded});
}

// Not left to the actor: this can begin while that one's thread is still being woken.
void hand_on(const caf::actor& runner, WorkPtr work, const Dispatcher* dispatcher) {
  if (is_session_part(work->request().header)) return hand_on_part(runner, work, dispatcher);
  if (dispatcher == nullptr) {
    hand_over();
    return caf::anon_send(runner, RunWork{std::move(work)});
  }
  try {
    dispatcher->run(work, runner);
  } catch (const std::exception& error) {  // the work, lost now, answers
    log_about(subject_of(work->request()), LogLevel::kError,
              std::string("a request could not be handed on: ") + error.what());
  }
}

// One that waits for its answer only needs no thread before that.
caf::actor spawn(caf::actor_system& system, RequestSetup setup) {
  const bool waits = setup.runner && setup.request->header.deadline_us == 0;
  hand_over();
  if (waits) return spawn_shell<RequestShell, caf::lazy_init>(system, std::move(setup));
  return spawn_shell<RequestShell>(system, std::move(setup));
}

}  // namespace

caf::actor spawn_request_actor(caf::actor_system& system, std::shared_ptr<ReplySink> sink, caf::actor runner,
                               RequestPtr request, const Dispatcher* dispatcher) {
  caf::actor actor = spawn(system, {std::move(sink), runner, request});
  if (runner) hand_on(runner, std::make_shared<Work>(std::move(request), actor), dispatcher);
  return actor;
}

}  // namespace volvox
