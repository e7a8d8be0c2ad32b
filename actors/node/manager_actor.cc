#include "actors/node/manager_actor.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/node/dispatcher.h"
#include "actors/node/job_maker.h"
#include "actors/process/liveness.h"
#include "actors/sessions/session_driver.h"
#include "actors/sessions/session_token.h"
#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/system/shell.h"
#include "actors/work/answer.h"
#include "actors/work/lookahead.h"
#include "actors/work/messages.h"
#include "base/clock.h"

namespace volvox {

// copier → manager: it was made, or could not be.
struct StateCopied {
  StateCopyPtr copy;
};

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::StateCopied)

namespace volvox {
namespace {

constexpr Duration kShortestPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(1);

class ManagerShell final : private PartRunner {
 public:
  static constexpr const char* kName = "manager";

  ManagerShell(caf::event_based_actor* self, ManagerSetup setup)
      : self_(self),
        node_(std::move(setup.node)),
        jobs_(node_),
        schedulers_(actor_slots(node_->devices.size())),
        starting_(node_->devices.size()),
        dispatcher_(node_, schedulers_),
        sessions_(SessionDriver::make(node_, jobs_, *this, std::move(setup.copier))) {}

  caf::behavior behavior() {
    return {[this](const RunWork& run) {
              look_at_devices();
              begin(run.work);
              after_sessions();
            },
            [this](const RunWorks& run) {
              look_at_devices();
              for_each_ahead(*run.works, [this](const WorkPtr& work) { begin(work); });
              after_sessions();
            },
            [this](const RerunWork& rerun) {
              take_over();
              run_again(rerun.work, rerun.lost_on);
            },
            [this](const FinishedWorks& finished) {
              take_over();
              // Each goes as soon as it is finished: all of a task's together are much memory.
              for_each_ahead(*finished.works, [this](WorkPtr& work) { finish(WorkPtr(std::move(work))); });
              after_sessions();
            },
            [](const Stepped& stepped) {
              take_over();
              for (const Stepped::Lane& lane : *stepped.lanes) {
                advance_stream(lane.work, lane.lane, lane.steps);
              }
            },
            [this](const CancelWork& cancelled) {
              cancel(cancelled);
              after_sessions();
            },
            [this](const CancelWorks& cancelled) {
              take_over();
              for (const std::uint64_t key : *cancelled.keys) cancel({key, cancelled.why});
              after_sessions();
            },
            [this](const PartLost& lost) {
              take_over();
              if (sessions_) sessions_->lost(lost.session, steady_now());
              after_sessions();
            },
            [this](const PartStuck& stuck) {
              take_over();
              if (sessions_) sessions_->hangs(stuck.session, steady_now());
              after_sessions();
            },
            [this](const StateCopied& copied) {
              take_over();
              sessions_->copied(*copied.copy, steady_now());
              look_at_devices();  // one that hung may not any more
              after_sessions();
            },
            [this](const AliveQuery& query) {
              take_over();
              if (node_->faults.manager_asked) node_->faults.manager_asked();
              query.answer->set_value({});
            },
            [this](TickAtom) { tick(); },
            [this](DrainAtom) {
              if (sessions_) sessions_->drain(steady_now());
              after_sessions();
            },
            [this](const UseScheduler& use_scheduler) { use(use_scheduler); }};
  }

 private:
  void begin(const WorkPtr& work) {
    take_over();
    if (node_->faults.manager) node_->faults.manager(work->request());
    is_session_part(work->request().header) ? begin_part(work) : dispatcher_.run(work, self());
  }

  caf::actor self() const { return caf::actor_cast<caf::actor>(self_); }

  void run_again(const WorkPtr& work, std::uint32_t lost_on) {
    // No scheduler had it when they were told.
    if (const auto why = work->request().end.given_up())
      return work->settle({*why, "nobody waits for the request any more"});
    if (!dispatcher_.device_but(lost_on)) {
      return work->settle({ErrorCode::kInternal,
                           "the device failed under this request, and no other one takes work; send it again "
                           "later"});
    }
    node_->metrics->rerun();
    dispatcher_.run(work, self(), lost_on);
  }

  void begin_part(const WorkPtr& work) {
    if (!sessions_) {
      return work->settle({ErrorCode::kInvalidArgument,
                           "this server keeps no sessions; send the request without a session token"});
    }
    sessions_->submit(work, steady_now());
  }

  // PartRunner
  void start(const WorkPtr& part) override {
    part->part->keeper = self();
    auto& ready = starting_[part->device_place->device()];
    if (!ready) ready = std::make_shared<std::vector<WorkPtr>>();
    ready->push_back(part);
  }
  void stop(std::uint64_t key) override {
    send_started();
    tell_schedulers({key});
  }
  StateCopier::Done on_copied() override {
    return [self = self()](const StateCopyPtr& copy) {
      hand_over();
      insist([&] { caf::anon_send(self, StateCopied{copy}); });
    };
  }
  bool ready(std::uint32_t device) const override { return dispatcher_.usable(device); }

  // What the message at hand has made ready goes to a scheduler in one of its own.
  void send_started() {
    for (std::uint32_t device = 0; device < starting_.size(); ++device) {
      if (!starting_[device]) continue;
      hand_over();
      self_->send(schedulers_[device]->get(), AdmitWorks{std::exchange(starting_[device], nullptr)});
    }
  }

  // At the end of each message that may have moved a session.
  void after_sessions() {
    send_started();
    if (sessions_) sessions_->publish();
    tick_later();
  }

  // Nobody keeps where a request runs: a scheduler that does not know it ignores the message.
  void tell_schedulers(const CancelWork& cancelled) {
    for (const auto& slot : schedulers_) {
      if (const caf::actor scheduler = slot->get()) self_->send(scheduler, cancelled);
    }
  }

  void use(const UseScheduler& use) {
    schedulers_[use.device]->set(use.scheduler);
    if (!sessions_) return;
    const TimePoint now = steady_now();
    look_at_devices();
    // Nobody knows what the device still holds.
    if (!use.scheduler) sessions_->device_lost(use.device, now);
    after_sessions();
  }

  // Sessions go where parts can run; where they can nowhere, anywhere: a device will be back.
  void look_at_devices() {
    if (!sessions_) return;
    std::vector<std::uint32_t> usable_ones, all;
    for (std::uint32_t device = 0; device < schedulers_.size(); ++device) {
      all.push_back(device);
      if (dispatcher_.usable(device)) usable_ones.push_back(device);
    }
    std::vector<std::uint32_t>& devices = usable_ones.empty() ? all : usable_ones;
    if (devices == session_devices_) return;
    session_devices_ = std::move(devices);
    sessions_->use_devices(session_devices_, steady_now());
  }

  void tick() {
    ticking_ = false;
    look_at_devices();
    sessions_->tick(steady_now());
    look_at_devices();  // one of them may hang, as was just found out
    after_sessions();
  }

  // At least every second: a clock that is set further ahead would hold on to this actor.
  void tick_later() {
    if (!sessions_ || ticking_) return;
    const auto at = sessions_->next_wakeup();
    if (!at) return;
    ticking_ = true;
    const Duration left = *at - steady_now();
    self_->delayed_send(self_, std::clamp<Duration>(left, kShortestPause, kLongestPause), TickAtom::value);
  }

  void cancel(const CancelWork& cancelled) {
    if (sessions_ && sessions_->cancel(cancelled.key, cancelled.why, steady_now())) return;
    tell_schedulers(cancelled);
  }

  void finish(const WorkPtr& work) {
    const CheckedJob& job = *work->checked;
    const JobEnd& end = *work->end;
    if (work->again && end.device_failed && work->can_run_again()) {
      const std::uint32_t lost_on = work->device_place->device();
      if (dispatcher_.device_but(lost_on)) return run_again(work->successor(), lost_on);
    }
    work->device_place.reset();
    if (const auto& trace = work->request().trace) {
      if (end.first_submit != TimePoint{}) trace->reach(SpanStage::kFirstTask, end.first_submit);
      trace->reach(SpanStage::kDone, end.done);
    }
    const TimePoint now = steady_now();
    const std::uint64_t total_us = microseconds(now - work->request().arrival);
    Outcome outcome;
    if (end.error) {
      outcome.error = *end.error;
      outcome.retry_after_us = end.retry_after_us;
    } else {
      end_stream(work);
      if (!work->part) outcome = whole_answer(work);
      outcome.cells = static_cast<std::uint32_t>(cells_of(*job.model, end.lengths));
      outcome.queue_us = microseconds(end.first_submit - work->request().arrival);
      outcome.compute_us = microseconds(end.done - end.first_submit);
      if (work->request().place) work->request().place->done(steps_of(*job.model, end.lengths));
    }
    if (work->request().place) work->request().place->leave();
    node_->statistics[job.model->id].ended(work->request(), outcome, total_us);
    if (!work->part) return work->settle(std::move(outcome));
    if (sessions_) sessions_->finished(work, std::move(outcome), now);
  }

  caf::event_based_actor* self_;
  NodePtr node_;
  JobMaker jobs_;
  SchedulerSlots schedulers_;  // by device, as the supervisor says; empty: there is none for now
  std::vector<std::shared_ptr<std::vector<WorkPtr>>> starting_;  // parts, by device; null: none
  Dispatcher dispatcher_;
  std::unique_ptr<SessionDriver> sessions_;     // null: there are none
  std::vector<std::uint32_t> session_devices_;  // that it was told of last
  bool ticking_ = false;
};

}  // namespace

caf::actor spawn_manager(caf::actor_system& system, ManagerSetup setup) {
  return spawn_shell<ManagerShell>(system, std::move(setup));
}

}  // namespace volvox
