#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "batching/service_estimate.h"

namespace volvox {

class Workload;

// A request's place in the estimate of what is accepted; left by its destructor. Any thread.
class WorkPlace {
 public:
  WorkPlace(std::shared_ptr<Workload> workload, const ExpectedWork& work);
  ~WorkPlace();
  WorkPlace(const WorkPlace&) = delete;
  WorkPlace& operator=(const WorkPlace&) = delete;

  // Its steps are known now, where there was only the client's word for them. Whether it can still end in
  // time.
  Forecast correct(std::uint32_t steps, Duration time_left);

 private:
  std::shared_ptr<Workload> workload_;
  ExpectedWork work_;  // guarded by the workload's mutex
};

// The edge asks whether a request can make its deadline, the manager corrects what clients said of theirs,
// and the scheduler tells how long tasks really took: a ServiceEstimate for all of them. Any thread.
class Workload {
 public:
  void set_model(ModelId model, const ModelCost& cost);
  Forecast forecast(const ExpectedWork& work, Duration time_left) const;
  void measured(double estimated_us, Duration actual);
  // How long all that is accepted will take.
  Duration backlog() const;

 private:
  friend class WorkPlace;

  mutable std::mutex mutex_;
  ServiceEstimate estimate_;
};

// What a request is told that would come too late.
Status in_time(const Forecast& forecast);

}  // namespace volvox
