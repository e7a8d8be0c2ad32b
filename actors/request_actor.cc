#include "actors/request_actor.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "actors/handoff.h"
#include "actors/messages.h"
#include "actors/session_token.h"
#include "actors/shell.h"

namespace volvox {
namespace {

struct RequestSetup {
  std::shared_ptr<ReplySink> sink;
  caf::actor router;
};

class RequestShell {
 public:
  static constexpr const char* kName = "request actor";

  RequestShell(caf::event_based_actor* self, RequestSetup setup)
      : self_(self), sink_(std::move(setup.sink)), router_(std::move(setup.router)) {}

  caf::behavior behavior() { return handlers(); }

 private:
  caf::message_handler handlers() {
    return {[this](const StartRequest& start) {
              take_over();
              begin(start.request);
            },
            [this](const FinishRequest& finish) {
              take_over();
              ticket_->answer(*finish.outcome);
              self_->quit();
            },
            [this](const PartialResult& partial) {
              take_over();
              forward(partial);
            },
            [this](CancelAtom) { give_up(ErrorCode::kCancelled, "the client cancelled the request"); },
            [this](AbortAtom) {
              give_up(ErrorCode::kUnavailable,
                      "the server shut down before the request ended; send it elsewhere");
            }};
  }

  void begin(const RequestPtr& request) {
    ticket_.emplace(sink_, request);
    if (request->header.deadline_us != 0) wait_until(request->deadline());
    auto work = std::make_shared<Work>(request, caf::actor_cast<caf::actor>(self_));
    hand_over();
    self_->send(router_, RunWork{std::move(work)});
  }

  void forward(const PartialResult& partial) {
    if (ticket_->partial(partial.index, *partial.part)) return;
    give_up(ErrorCode::kOverloaded,
            "replies pile up, and a part of the answer found no room; read faster, and go on from where it "
            "ended");
  }

  // A receive timeout dies with its actor; a delayed message would keep it alive until then.
  void wait_until(TimePoint deadline) {
    // Never zero: CAF renews a zero timeout for ever, before it lets the actor act on it.
    const Duration left = std::max<Duration>(std::chrono::microseconds(1), deadline - steady_now());
    self_->become(
        handlers().or_else(caf::after(left) >> [this] { give_up(ErrorCode::kDeadlineExceeded, kTooLate); }));
  }

  // Answers at once, and stays until the request has really ended: only then is its share of the bounds free.
  void give_up(ErrorCode code, const char* message) {
    if (ticket_->used()) return;
    self_->send(router_, CancelWork{ticket_->request().key, code});
    if (!is_decided_elsewhere(code)) ticket_->answer(code, message);
    self_->become(handlers());
  }

  // A part of a session changes it, and this actor cannot know whether it has: whoever keeps the session says
  // so, with the result or with this error. A server that leaves has no time for that.
  bool is_decided_elsewhere(ErrorCode code) const {
    const bool waits = code == ErrorCode::kCancelled || code == ErrorCode::kDeadlineExceeded;
    return waits && is_session_part(ticket_->request().header);
  }

  caf::event_based_actor* self_;
  std::shared_ptr<ReplySink> sink_;
  caf::actor router_;
  std::optional<ReplyTicket> ticket_;
};

}  // namespace

caf::actor spawn_request_actor(caf::actor_system& system, std::shared_ptr<ReplySink> sink,
                               caf::actor router) {
  return system.spawn<caf::lazy_init>(run_shell<RequestShell, RequestSetup>,
                                      RequestSetup{std::move(sink), std::move(router)});
}

}  // namespace volvox
