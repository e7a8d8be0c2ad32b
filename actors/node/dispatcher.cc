#include "actors/node/dispatcher.h"

#include <utility>

#include <caf/send.hpp>

#include "actors/system/handoff.h"
#include "actors/work/answer.h"
#include "actors/work/messages.h"
#include "base/clock.h"

namespace volvox {
namespace {

constexpr const char* kRestarting = "the device is being restarted; try again";

}  // namespace

Dispatcher::Dispatcher(NodePtr node, SchedulerSlots schedulers)
    : node_(std::move(node)), schedulers_(std::move(schedulers)), jobs_(node_), parts_(node_) {}

void Dispatcher::run(const WorkPtr& work, const caf::actor& manager, std::uint32_t avoided) const {
  Status ready = prepare(*work, avoided);
  const caf::actor scheduler = ready ? schedulers_[work->device_place->device()]->get() : caf::actor();
  if (ready && !scheduler) {
    // It has failed since it was chosen: as if it had failed with the work in its hands.
    if (schedulers_.size() > 1 && work->can_run_again()) {
      work->again = manager;
      return;
    }
    ready = fail(ErrorCode::kUnavailable, kRestarting);
  }
  if (!ready) {
    const bool later =
        ready.error().code == ErrorCode::kOverloaded || ready.error().code == ErrorCode::kUnavailable;
    return work->settle(ready.error(), later ? retry_after_us(*node_) : 0);
  }
  if (schedulers_.size() > 1) work->again = manager;
  if (const auto& trace = work->request().trace) trace->reach(SpanStage::kHandedOn, steady_now());
  hand_over();
  caf::anon_send(scheduler, AdmitWork{work});
}

Status Dispatcher::prepare(Work& work, std::uint32_t avoided) const {
  const auto device = device_but(avoided);
  if (!device) return fail(ErrorCode::kUnavailable, kRestarting);
  const auto model = find_model(work.request());
  if (!model) return tl::unexpected(model.error());
  const auto body = jobs_.read(work);
  if (!body) return tl::unexpected(body.error());
  auto checked = JobMaker::check(*model, *body);
  if (!checked) return tl::unexpected(std::move(checked).error());
  work.checked.emplace(std::move(*checked));
  if (Status on_time = check_time(work); !on_time) return on_time;
  if (Status streams = begin_stream(work); !streams) return streams;
  jobs_.place(work, *device);
  return jobs_.make(work);
}

std::optional<std::uint32_t> Dispatcher::device_but(std::uint32_t avoided) const {
  return node_->loads->choose([&](std::uint32_t device) { return device != avoided && usable(device); });
}

bool Dispatcher::usable(std::uint32_t device) const {
  return schedulers_[device]->get() && (node_->devices[device]->health->answers() || !node_->answers());
}

Result<ModelPtr> Dispatcher::find_model(const IncomingRequest& request) const {
  if (request.model) return request.model;
  return node_->catalog->find(request.header.model, request.header.model_version);
}

// Again, and with the steps that the request really has.
Status Dispatcher::check_time(const Work& work) const {
  const IncomingRequest& request = work.request();
  const TimePoint now = steady_now();
  if (request.deadline() <= now) return fail(ErrorCode::kDeadlineExceeded, kTooLate);
  if (!request.place) return {};
  const Duration left = request.header.deadline_us == 0 ? Duration::max() : request.deadline() - now;
  // Of what stops by itself only experience tells how long it is.
  const InstalledModel& model = *work.checked->model;
  if (stops_by_itself(*model.model)) return {};
  Status on_time = in_time(request.place->correct(steps_of(model, work.checked->lengths), left));
  if (!on_time) node_->metrics->refused(Bound::kDeadline);
  return on_time;
}

}  // namespace volvox
