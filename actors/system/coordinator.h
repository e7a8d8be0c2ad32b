#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_set>

#include <caf/all.hpp>
#include <caf/policy/unprofiled.hpp>
#include <caf/scheduler/coordinator.hpp>

namespace volvox {

// CAF 0.17 tells its clock of the end of every actor, for the sake of timeouts that it may have, and wakes
// the clock's thread for that: a thread change for each request. This one passes on the ends of those only
// that have set a timeout. Any thread.
class QuietClock final : public caf::detail::thread_safe_actor_clock {
 public:
  explicit QuietClock(caf::detail::thread_safe_actor_clock& clock) : clock_(clock) {}

  void set_ordinary_timeout(time_point at, caf::abstract_actor* self, caf::atom_value type,
                            std::uint64_t id) override;
  void set_request_timeout(time_point at, caf::abstract_actor* self, caf::message_id id) override;
  void set_multi_timeout(time_point at, caf::abstract_actor* self, caf::atom_value type,
                         std::uint64_t id) override;
  void cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) override;
  void cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) override;
  void cancel_timeouts(caf::abstract_actor* self) override;
  void schedule_message(time_point at, caf::strong_actor_ptr receiver,
                        caf::mailbox_element_ptr content) override;
  void schedule_message(time_point at, caf::group target, caf::strong_actor_ptr sender,
                        caf::message content) override;
  void cancel_all() override;

  // Ends that were passed on.
  std::uint64_t ends() const { return ends_; }

 private:
  void note(caf::abstract_actor* self);

  caf::detail::thread_safe_actor_clock& clock_;
  std::mutex mutex_;
  std::unordered_set<caf::abstract_actor*> waiting_;  // have set a timeout, and live
  std::atomic<std::uint64_t> ends_{0};
};

// The queue of actors that are ready, as CAF's policy "sharing" has it, which makes a list's node for each.
class ReadyQueue : public caf::policy::unprofiled {
 public:
  struct coordinator_data {
    explicit coordinator_data(caf::scheduler::abstract_coordinator*) {}
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<caf::resumable*> jobs;
  };
  struct worker_data {
    explicit worker_data(caf::scheduler::abstract_coordinator*) {}
  };

  template <class Coordinator>
  void central_enqueue(Coordinator* self, caf::resumable* job) {
    {
      const std::lock_guard lock(d(self).mutex);
      d(self).jobs.push_back(job);
    }
    d(self).filled.notify_one();
  }
  template <class Worker>
  void external_enqueue(Worker* self, caf::resumable* job) {
    central_enqueue(self->parent(), job);
  }
  template <class Worker>
  void internal_enqueue(Worker* self, caf::resumable* job) {
    central_enqueue(self->parent(), job);
  }
  // Of an actor that lets others run: at the end, then.
  template <class Worker>
  void resume_job_later(Worker* self, caf::resumable* job) {
    central_enqueue(self->parent(), job);
  }
  template <class Worker>
  caf::resumable* dequeue(Worker* self) {
    auto& data = d(self->parent());
    std::unique_lock lock(data.mutex);
    data.filled.wait(lock, [&] { return !data.jobs.empty(); });
    caf::resumable* job = data.jobs.front();
    data.jobs.pop_front();
    return job;
  }
  template <class Worker, class Visit>
  void foreach_resumable(Worker*, Visit) {}
  template <class Coordinator, class Visit>
  void foreach_central_resumable(Coordinator* self, Visit visit) {
    const std::lock_guard lock(d(self).mutex);
    for (; !d(self).jobs.empty(); d(self).jobs.pop_front()) visit(d(self).jobs.front());
  }
};

// CAF's scheduler with that clock and that queue. "stealing", its default policy, leaves a ready actor in the
// queue of a busy thread for up to 30 ms; one queue for all does not.
class Coordinator final : public caf::scheduler::coordinator<ReadyQueue> {
 public:
  using Base = caf::scheduler::coordinator<ReadyQueue>;

  explicit Coordinator(caf::actor_system& system) : Base(system), quiet_(Base::clock()) {}
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new Coordinator(system);
  }
  QuietClock& clock() noexcept override { return quiet_; }

 private:
  QuietClock quiet_;
};

}  // namespace volvox
