#include "batching/scheduler.h"

#include "batching/core.h"

namespace volvox {

Scheduler::Scheduler(SchedulerConfig config, std::unique_ptr<Policy> policy)
    : core_(std::make_unique<Core>(std::move(config), std::move(policy))) {}

Scheduler::~Scheduler() = default;

Status Scheduler::add_model(const ModelParts& parts) {
  return core_->add_model(parts);
}

bool Scheduler::remove_model(ModelId id) {
  return core_->remove_model(id);
}

bool Scheduler::has_model(ModelId id) const {
  return core_->has_model(id);
}

AdmitResult Scheduler::admit(Request request, TimePoint now) {
  return core_->submit(std::move(request), now);
}

void Scheduler::inputs_landed(RequestId id, TimePoint now) {
  core_->inputs_landed(id, now);
}

void Scheduler::schedule(WorkerId worker, TimePoint now, std::vector<BatchedTask>& out) {
  core_->schedule(worker, now, out);
}

void Scheduler::complete(WorkerId worker, TaskSeq up_to, TimePoint now, std::vector<Event>& out) {
  core_->complete(worker, up_to, now, out);
}

void Scheduler::fail(WorkerId worker, TaskSeq first_bad, TimePoint now, std::vector<Event>& out) {
  core_->fail(worker, first_bad, now, out);
}

void Scheduler::recycle(BatchedTask task) {
  core_->recycle(std::move(task));
}

void Scheduler::stop(RequestId id, LaneId lane, Step last, TimePoint now, std::vector<Event>& out) {
  core_->stop(id, lane, last, now, out);
}

Status Scheduler::extend(RequestId id, GraphDelta delta, TimePoint now) {
  return core_->extend(id, std::move(delta), now);
}

void Scheduler::cancel(RequestId id, TimePoint now, std::vector<Event>& out) {
  core_->cancel(id, now, out);
}

void Scheduler::expire(TimePoint now, std::vector<Event>& out) {
  core_->expire(now, out);
}

void Scheduler::suspend(WorkerId worker, TimePoint now, std::vector<Event>& out) {
  core_->suspend(worker, now, out);
}

std::optional<TimePoint> Scheduler::next_wakeup() const {
  return core_->next_wakeup();
}

const Frontier& Scheduler::frontier() const {
  return *core_;
}

SchedulerStats Scheduler::stats() const {
  return core_->stats();
}

bool Scheduler::idle() const {
  return core_->idle();
}

}  // namespace volvox
