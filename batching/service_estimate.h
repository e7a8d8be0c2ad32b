#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "batching/model_cost.h"
#include "batching/request.h"

namespace volvox {

// A request as it is estimated: before its body is read, from its header alone.
struct ExpectedWork {
  ModelId model = 0;
  PriorityClass priority = PriorityClass::kNormal;
  std::uint32_t steps = 0;  // 0: unknown; then as many as the model's requests have on average
};

// Whether a request can be answered in time.
struct Forecast {
  enum class Kind : std::uint8_t {
    kInTime,
    kTooMuchAhead,  // could be, if less were accepted: `retry_after` says when
    kNever,         // it runs for longer than that even alone
  };
  Kind kind = Kind::kInTime;
  Duration retry_after{0};
};

// A request that cannot make its deadline costs device time and helps nobody, and a client that is told so at
// once can go elsewhere. This knows what has been accepted and not ended, what steps cost by the models'
// measured costs, and how much slower or faster than these the device has been lately. From that it forecasts
// when a newcomer would end: the requests before it that find no row in the batches work off first, then it
// steps with the others, and other busy models take their shares. Pure; not thread-safe.
class ServiceEstimate {
 public:
  void set_model(ModelId model, const ModelCost& cost);

  // Accepted / ended, however it ended: the same work both times, with its steps known.
  void enter(const ExpectedWork& work);
  void leave(const ExpectedWork& work);
  // Fills in unknown steps.
  ExpectedWork completed(ExpectedWork work) const;

  // Tasks estimated at `estimated_us` kept the device busy for `actual`.
  void measured(double estimated_us, Duration actual);

  Forecast forecast(const ExpectedWork& work, Duration time_left) const;
  // How long all that is accepted will take.
  Duration backlog() const;
  // Device time taken per time estimated, of late.
  double slowdown() const { return slowdown_; }

 private:
  struct Class {
    std::uint64_t requests = 0, steps = 0;
  };
  struct Load {
    ModelCost cost;
    std::array<Class, kPriorityClasses> classes;
    double mean_steps = 0;

    Class up_to(PriorityClass priority) const;  // that class and those above it
    double work_us() const;
  };

  double finish_us(const ExpectedWork& work) const;

  std::vector<Load> loads_;  // by model
  double slowdown_ = 1.0;
  double estimated_us_ = 0, actual_us_ = 0;  // decaying sums
};

}  // namespace volvox
