#include "actors/manager_actor.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "actors/answer.h"
#include "actors/gateway.h"
#include "actors/handoff.h"
#include "actors/messages.h"
#include "actors/request_check.h"
#include "actors/shell.h"
#include "protocol/codec.h"

namespace volvox {
namespace {

class ManagerShell {
 public:
  static constexpr const char* kName = "manager";

  ManagerShell(caf::event_based_actor* self, NodePtr node)
      : self_(self), node_(std::move(node)), limits_(wire_limits(node_->config.wire)) {}

  caf::behavior behavior() {
    return {[this](const RunWork& run) { begin(run.work); },
            [this](const FinishedWorks& finished) {
              take_over();
              for (const WorkPtr& work : *finished.works) finish(work);
            },
            [](const Stepped& stepped) {
              take_over();
              for (const Stepped::Lane& lane : *stepped.lanes) {
                advance_stream(lane.work, lane.lane, lane.steps);
              }
            },
            [this](const CancelWork& cancel) {
              if (scheduler_) self_->send(scheduler_, cancel);
            },
            [this](const UseScheduler& use) { scheduler_ = use.scheduler; }};
  }

 private:
  void begin(const WorkPtr& work) {
    take_over();
    if (node_->faults.manager) node_->faults.manager(work->request());
    if (!scheduler_) {
      return work->settle({ErrorCode::kUnavailable, "the device is being restarted; try again"},
                          retry_after_us(*node_));
    }
    if (const Status ready = prepare(*work); !ready) {
      const bool later = ready.error().code == ErrorCode::kOverloaded;
      return work->settle(ready.error(), later ? retry_after_us(*node_) : 0);
    }
    hand_over();
    self_->send(scheduler_, AdmitWork{work});
  }

  Status prepare(Work& work) {
    const RequestHeader& header = work.request().header;
    if (header.session && header.session->operation != SessionOperation::kNone) {
      return invalid("this server keeps no sessions; send the request without a session token");
    }
    const auto model = find_model(work.request());
    if (!model) return tl::unexpected(model.error());
    const auto body = read_request_body(work.request().body, limits_);
    if (!body) return tl::unexpected(body.error());
    auto checked = check_request(*(*model)->model, *body);
    if (!checked) return tl::unexpected(checked.error());
    work.model = *model;
    work.length = checked->length;
    if (const Status on_time = check_time(work); !on_time) return on_time;
    work.wanted = std::move(checked->outputs);
    if (const Status streams = begin_stream(work); !streams) return streams;
    if (Status results = allocate_results(work); !results) return results;
    return unfold(work, *checked);
  }

  Result<ModelPtr> find_model(const IncomingRequest& request) const {
    if (request.model) return request.model;
    return node_->catalog->find(request.header.model, request.header.model_version);
  }

  // Again, and with the steps that the request really has.
  Status check_time(const Work& work) const {
    const IncomingRequest& request = work.request();
    const TimePoint now = steady_now();
    if (request.deadline() <= now) return fail(ErrorCode::kDeadlineExceeded, kTooLate);
    if (!request.place) return {};
    const Duration left = request.header.deadline_us == 0 ? Duration::max() : request.deadline() - now;
    const Status on_time = in_time(request.place->correct(work.length, left));
    if (!on_time) node_->metrics->refused(Bound::kDeadline);
    return on_time;
  }

  Status allocate_results(Work& work) {
    const std::size_t bytes = output_bytes(*work.model, work.length);
    if (bytes > limits_.max_body_bytes) {
      return invalid("the results would have " + std::to_string(bytes) +
                     " bytes, more than wire.max_body_bytes; " + "send a shorter request");
    }
    if (!work.reserve(node_->result_bytes, bytes)) {
      node_->metrics->refused(Bound::kResults);
      return fail(ErrorCode::kOverloaded,
                  "the results of requests in flight fill their memory; wait and try again");
    }
    auto results = node_->device->results(bytes);
    if (!results) return tl::unexpected(results.error());
    work.results = std::move(*results);
    return {};
  }

  // The body is one block, so that it is read in place from where the edge copied it.
  Status unfold(Work& work, const CheckedRequest& checked) {
    const WireBuffer& body = *work.request().body;
    const InputBlock block{body.bytes(), work.request().body};
    auto pages = node_->device->stage({&block, 1});
    if (!pages) return tl::unexpected(pages.error());
    work.pages = std::move(*pages);
    std::array<DeviceAddress, kMaxInputs> inputs{};
    const std::size_t count = work.model->model->inputs.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto offset = static_cast<std::uint64_t>(checked.inputs[i]->bytes.data() - body.data());
      inputs[i] = work.pages->addresses()[0] + offset;
    }
    work.job = chain_request(*work.model, work.length, {inputs.data(), count}, work.results.address);
    work.job.tag = work.request().key;
    work.job.priority = priority_class(work.request().header.priority);
    work.job.arrival = work.request().arrival;
    work.job.deadline = work.request().deadline();
    work.job.report_steps = work.request().header.stream;
    work.job.inputs_landed = work.pages->landed();
    return {};
  }

  void finish(const WorkPtr& work) {
    ModelStatistics& statistics = node_->statistics[work->model->id];
    const std::uint64_t total_us = microseconds(steady_now() - work->request().arrival);
    if (work->error) {
      statistics.failed(total_us);
      return work->settle(*work->error, work->retry_after_us);
    }
    end_stream(work);
    Outcome outcome = whole_answer(work);
    outcome.cells = static_cast<std::uint32_t>(work->length * work->model->plan.lanes.size());
    outcome.queue_us = microseconds(work->first_submit - work->request().arrival);
    outcome.compute_us = microseconds(work->done - work->first_submit);
    statistics.succeeded(outcome.queue_us, outcome.compute_us, total_us);
    work->settle(std::move(outcome));
  }

  caf::event_based_actor* self_;
  NodePtr node_;
  WireLimits limits_;
  caf::actor scheduler_;
};

}  // namespace

caf::actor spawn_manager(caf::actor_system& system, NodePtr node) {
  return system.spawn(run_shell<ManagerShell, NodePtr>, std::move(node));
}

}  // namespace volvox
