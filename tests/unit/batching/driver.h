#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "batching/policy/policies.h"
#include "batching/scheduler.h"
#include "tests/unit/batching/toy_device.h"
#include "tests/unit/batching/toy_models.h"

namespace volvox::toy {

// A scheduler, a toy device and the bookkeeping that a shell does, driven step by step by a test.
class Driver {
 public:
  // `own_rows`: of each pool, behind those that requests share.
  Driver(SchedulerConfig config, std::unique_ptr<Policy> policy, std::uint32_t device_max_batch,
         std::uint32_t own_rows = 0)
      : config_(std::move(config)),
        device_(type_shapes(device_max_batch), slots(), own_rows, config_.workers),
        scheduler_(config_, std::move(policy)),
        in_flight_(config_.workers) {}

  Scheduler& scheduler() { return scheduler_; }
  Device& device() { return device_; }
  TimePoint now() const { return now_; }
  void advance(Duration by) { now_ += by; }

  AdmitResult admit(Request request) {
    const std::uint64_t tag = request.tag;
    requests_[tag] = request;
    AdmitResult result = scheduler_.admit(std::move(request), now_);
    if (result.kind == AdmitResult::Kind::kAdmitted || result.kind == AdmitResult::Kind::kWaiting)
      ids_[tag] = result.id;
    return result;
  }

  // Tasks formed by this call, the rows of each.
  std::vector<const Task*> schedule(WorkerId worker) {
    expire();
    std::vector<BatchedTask> tasks;
    scheduler_.schedule(worker, now_, tasks);
    std::vector<const Task*> formed;
    for (BatchedTask& task : tasks) {
      if (!config_.worker_batches.empty()) {
        EXPECT_LE(task->rows, max_batch(config_.types[task->type], config_.worker_batches, worker));
      }
      device_.submit(worker, task.get());
      formed.push_back(task.get());
      in_flight_[worker].push_back(std::move(task));
    }
    return formed;
  }

  std::size_t in_flight(WorkerId worker) const { return in_flight_[worker].size(); }

  // The oldest `count` tasks of the worker run, if they have not, and are done.
  void complete(WorkerId worker, std::size_t count) {
    if (count == 0) return;
    const TaskSeq up_to = in_flight_[worker][count - 1]->seq;
    device_.run_until(worker, up_to);
    device_.completed(worker, up_to);
    std::vector<Event> events;
    scheduler_.complete(worker, up_to, now_, events);
    give_back(worker, count);
    take(events);
  }

  // The worker's tasks from the `skip`th on fail; those before are done.
  void fail(WorkerId worker, std::size_t skip) {
    complete(worker, skip);
    if (in_flight_[worker].empty()) return;
    const TaskSeq first_bad = in_flight_[worker].front()->seq;
    device_.drop_from(worker, first_bad);
    std::vector<Event> events;
    scheduler_.fail(worker, first_bad, now_, events);
    give_back(worker, in_flight_[worker].size());
    take(events);
  }

  void cancel(std::uint64_t tag) {
    std::vector<Event> events;
    scheduler_.cancel(ids_.at(tag), now_, events);
    take(events);
  }

  void expire() {
    std::vector<Event> events;
    scheduler_.expire(now_, events);
    take(events);
  }

  // The worker's running task hangs, for now.
  void suspend(WorkerId worker) {
    std::vector<Event> events;
    scheduler_.suspend(worker, now_, events);
    take(events);
  }

  // To be called as a caller does: when the step is reported done, and the lanes that follow are stopped.
  void stop(std::uint64_t tag, LaneId lane, Step last) {
    device_.forbid_after(tag, requests_.at(tag).plan->lanes[lane].type, last);
    stops_[tag].emplace(lane, last + 1);
    steps_before_[{tag, lane}] = steps_.size();
    std::vector<Event> events;
    scheduler_.stop(ids_.at(tag), lane, last, now_, events);
    take(events);
  }

  // False: the request does not grow any more.
  bool extend(std::uint64_t tag, const NodeGraph& graph) {
    auto larger = std::make_shared<const NodeGraph>(graph);
    if (!scheduler_.extend(ids_.at(tag), {larger}, now_)) return false;
    requests_.at(tag).graph = std::move(larger);
    return true;
  }

  void run_to_the_end() {
    for (int guard = 0; guard < 1000000 && !scheduler_.idle(); ++guard) {
      bool any = false;
      for (WorkerId w = 0; w < config_.workers; ++w) {
        any = !schedule(w).empty() || any;
        if (!in_flight_[w].empty()) {
          complete(w, 1);
          any = true;
        }
      }
      if (!any) break;
    }
    EXPECT_TRUE(scheduler_.idle()) << "something never ran";
    for (const TypeConfig& type : config_.types) {
      EXPECT_EQ(scheduler_.frontier().ready_alone(type.id), 0U) << "type " << type.id;
    }
  }

  // Every request that is done has the outputs that its structure says, and no row ran twice or on bad terms.
  void check() const {
    EXPECT_TRUE(device_.errors().empty()) << device_.errors().front();
    for (const auto& [node, times] : device_.ran()) EXPECT_EQ(times, 1) << "tag " << std::get<0>(node);
    for (const auto& [tag, kind] : over_) {
      if (kind == Event::Kind::kDone) check_done(tag);
    }
    check_steps();
  }

  const std::map<std::uint64_t, Event::Kind>& over() const { return over_; }
  const std::vector<Event>& steps() const { return steps_; }
  const std::set<std::uint64_t>& stuck() const { return stuck_; }
  const std::map<std::uint64_t, Request>& requests() const { return requests_; }
  void set_start(std::uint64_t tag, StartStates start) { starts_[tag] = std::move(start); }
  bool stopped(std::uint64_t tag, LaneId lane) const {
    const auto stops = stops_.find(tag);
    return stops != stops_.end() && stops->second.contains(lane);
  }

  // Of a request that is done: some lane's last step had been submitted before it was stopped.
  bool stopped_too_late(std::uint64_t tag) const {
    const auto asked = stops_.find(tag);
    return asked != stops_.end() && effective_stops(tag).size() < asked->second.size();
  }

 private:
  std::vector<std::uint32_t> slots() const {
    std::vector<std::uint32_t> slots;
    for (const PoolConfig& pool : config_.pools) slots.push_back(pool.slots);
    return slots;
  }

  void give_back(WorkerId worker, std::size_t count) {
    auto& tasks = in_flight_[worker];
    for (std::size_t i = 0; i < count; ++i) scheduler_.recycle(std::move(tasks[i]));
    tasks.erase(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void take(const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (event.kind == Event::Kind::kStepDone || event.kind == Event::Kind::kNodeDone) {
        steps_.push_back(event);
      } else if (event.kind == Event::Kind::kStuck) {
        EXPECT_TRUE(stuck_.insert(event.tag).second) << "request " << event.tag << " is stuck twice";
      } else {
        const bool expired = event.kind == Event::Kind::kExpired;
        EXPECT_TRUE(!expired || requests_.at(event.tag).deadline <= now_) << "it still had time";
        EXPECT_TRUE(!stuck_.contains(event.tag) || event.kind == Event::Kind::kFailed);
        EXPECT_TRUE(over_.emplace(event.tag, event.kind).second) << "request " << event.tag << " ends twice";
        device_.release(event.tag, event.kind == Event::Kind::kDone);
      }
    }
  }

  // A stop comes too late when the lane's last step was submitted before; otherwise that never runs.
  Stops effective_stops(std::uint64_t tag) const {
    const auto asked = stops_.find(tag);
    if (asked == stops_.end()) return {};
    const Request& request = requests_.at(tag);
    Stops stops = asked->second;
    std::erase_if(stops, [&](const auto& stop) {
      const LaneSpec& spec = request.plan->lanes[stop.first];
      return device_.ran().contains({tag, spec.type, request.lengths[spec.length_of] - 1});
    });
    return stops;
  }

  // Reported steps come in order, none after a stop, and the last one of a lane that is done is its last.
  void check_steps() const {
    std::map<std::pair<std::uint64_t, LaneId>, std::size_t> last;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].kind != Event::Kind::kStepDone) continue;
      const auto [seen, fresh] = last.try_emplace({steps_[i].tag, steps_[i].lane}, i);
      if (!fresh) {
        EXPECT_LT(steps_[seen->second].step, steps_[i].step);
      }
      seen->second = i;
    }
    for (const auto& [tag, kind] : over_) {
      const Request& request = requests_.at(tag);
      if (kind != Event::Kind::kDone || request.plan == nullptr) continue;
      for (LaneId l = 0; l < request.plan->lanes.size(); ++l) {
        const LaneSpec& spec = request.plan->lanes[l];
        if (!spec.until_stopped && !(request.report_steps && spec.pushes[0].every)) continue;
        ASSERT_TRUE(last.contains({tag, l})) << "request " << tag << " reported no step";
        check_last_step(request, l, last.at({tag, l}));
      }
    }
  }

  // `last`: which of the reports was the lane's last.
  void check_last_step(const Request& request, LaneId lane, std::size_t last) const {
    const Stops stops = effective_stops(request.tag);
    const auto stop = stops.find(lane);
    const std::uint32_t reported = steps_[last].step + 1;
    if (stop == stops.end()) {
      EXPECT_EQ(reported, request.lengths[request.plan->lanes[lane].length_of]) << "request " << request.tag;
    } else if (last >= steps_before_.at({request.tag, lane})) {
      EXPECT_EQ(reported, stop->second) << "request " << request.tag;
    } else {  // others were reported together with the one for which it was stopped
      EXPECT_GE(reported, stop->second) << "request " << request.tag;
    }
  }

  void check_done(std::uint64_t tag) const {
    const Request& request = requests_.at(tag);
    const Stops stops = effective_stops(tag);
    const auto start = starts_.find(tag);
    for (const auto& [address, value] :
         expected_outputs(request, stops, start == starts_.end() ? StartStates{} : start->second)) {
      const auto found = device_.outputs().find(address);
      ASSERT_NE(found, device_.outputs().end()) << "request " << tag << " lacks an output";
      EXPECT_EQ(found->second, value) << "request " << tag;
    }
    for (const Device::Node& node : expected_nodes(request, stops)) {
      EXPECT_TRUE(device_.ran().contains(node)) << "request " << tag << " lacks a node";
    }
  }

  SchedulerConfig config_;
  Device device_;
  Scheduler scheduler_;
  TimePoint now_{Duration{1}};
  std::vector<std::vector<BatchedTask>> in_flight_;
  std::map<std::uint64_t, Request> requests_;
  std::map<std::uint64_t, RequestId> ids_;
  std::map<std::uint64_t, Event::Kind> over_;
  std::map<std::uint64_t, Stops> stops_;                                  // as they were asked for
  std::map<std::pair<std::uint64_t, LaneId>, std::size_t> steps_before_;  // a stop: reports
  std::set<std::uint64_t> stuck_;
  std::map<std::uint64_t, StartStates> starts_;
  std::vector<Event> steps_;
};

}  // namespace volvox::toy
