#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "serving/service_estimate.h"

namespace volvox {

class Workload;

// A request's place in the estimate of what is accepted; left by leave(), or its destructor. Any thread.
class WorkPlace {
 public:
  // Until its steps are counted it stands there with as many as others had; a part of a session, which may
  // have to wait for another first, with none (`waits`).
  WorkPlace(std::shared_ptr<Workload> workload, ModelId model, PriorityClass priority, bool waits,
            std::uint64_t client = 0);
  ~WorkPlace();
  WorkPlace(const WorkPlace&) = delete;
  WorkPlace& operator=(const WorkPlace&) = delete;

  // Its steps were counted. Whether it can still end in time.
  Forecast correct(std::uint32_t steps, Duration time_left);
  // It ran to its end, in so many steps: the estimate learns from it, and it leaves.
  void done(std::uint32_t steps);
  // It runs no more, though it may still be held: by a client that reads its answer slowly, or a task that
  // hangs.
  void leave();

 private:
  void leave_locked();

  std::shared_ptr<Workload> workload_;
  ExpectedWork work_;              // guarded by the workload's mutex, as
  bool entered_ = false;           // whether it counts
  std::atomic<bool> left_{false};  // nor will it again; read without the mutex
  ServiceEstimate::Ahead ahead_;   // when it came: those that come later do not delay it
};

// The edge asks whether a request can make its deadline, the manager counts its steps and tells which were
// done, and the scheduler tells how long tasks really took: a ServiceEstimate for all of them. Any thread.
class Workload {
 public:
  void set_model(ModelId model, const ModelCost& cost);
  Forecast forecast(const ExpectedWork& work, Duration time_left) const;
  void measured(double estimated_us, Duration actual);
  // How long all that is accepted will take, with what waits unread.
  Duration backlog() const;
  // Besides `read` units so many wait that nobody has looked into: by estimate they take as long as those.
  void set_waiting(std::size_t waiting, std::size_t read);
  // As ServiceEstimate::wait().
  Duration wait(ModelId model) const;

 private:
  friend class WorkPlace;

  mutable std::mutex mutex_;
  ServiceEstimate estimate_;
  double with_waiting_ = 1;  // of what is read
};

// What a request is told that would come too late.
Status in_time(const Forecast& forecast);

}  // namespace volvox
