#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>

#include <caf/all.hpp>
#include <caf/policy/work_sharing.hpp>
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

// CAF's scheduler with that clock. "stealing", its default policy, leaves a ready actor in the queue of a
// busy thread for up to 30 ms; "sharing" does not.
class Coordinator final : public caf::scheduler::coordinator<caf::policy::work_sharing> {
 public:
  using Base = caf::scheduler::coordinator<caf::policy::work_sharing>;

  explicit Coordinator(caf::actor_system& system) : Base(system), quiet_(Base::clock()) {}
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new Coordinator(system);
  }
  QuietClock& clock() noexcept override { return quiet_; }

 private:
  QuietClock quiet_;
};

}  // namespace volvox
