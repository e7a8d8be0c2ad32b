#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "batching/request.h"
#include "install/model_cost.h"

namespace volvox {

// A request as it is estimated.
struct ExpectedWork {
  ModelId model = 0;
  PriorityClass priority = PriorityClass::kNormal;
  std::uint32_t steps = 0;   // 0: unknown
  bool counted = false;      // the steps were counted in its body; otherwise they are what its client says
  std::uint64_t client = 0;  // Request::client
};

// Whether a request can be answered in time.
struct Forecast {
  enum class Kind : std::uint8_t {
    kInTime,
    kTooMuchAhead,  // could be, if less were accepted: `retry_after` says when
    kNever,         // it runs for longer than that even alone; only where its steps were counted
  };
  Kind kind = Kind::kInTime;
  Duration retry_after{0};
};

// A request that cannot make its deadline costs device time and helps nobody, and a client that is told so at
// once can go elsewhere. This knows what has been accepted and not ended, what steps cost by the models'
// measured costs, and how much slower or faster than these the device has been lately. From that it forecasts
// when a newcomer would end: the requests before it that find no row in the batches work off first, then it
// steps with the others, and other busy models take their shares.
//
// What clients say of their requests is believed in what concerns these requests alone: others wait for what
// was counted, or, until a body is read, for as many steps as requests of the model that were done had on
// average. Where several clients ask, they take turns (ClientTurns), and newcomers of others may pass a
// request: so it is taken in only if it would be in time with half of the device. And nothing that is only
// estimated refuses for ever: without a hint a request counts as short until it is read, a device with
// nothing to do takes whatever comes, and so every estimate meets the truth. Pure; not thread-safe.
class ServiceEstimate {
 public:
  // From now on a model has this number, of which nothing is known but its cost.
  void set_model(ModelId model, const ModelCost& cost);

  // Accepted / ended, however it ended: the same work both times.
  void enter(const ExpectedWork& work);
  void leave(const ExpectedWork& work);
  // A request was done, in so many steps.
  void done(ModelId model, std::uint32_t steps);
  // How many a request of the model has, as far as those that were done tell; 0: none was.
  std::uint32_t usual_steps(ModelId model) const;

  // Tasks estimated at `estimated_us` kept the device busy for `actual`.
  void measured(double estimated_us, Duration actual);

  // What stands before a newcomer of the model, of its class and those above.
  struct Ahead {
    std::uint64_t requests = 0, steps = 0;
  };
  Ahead ahead(ModelId model, PriorityClass priority) const;

  // Duration::max(): there is no deadline. `at_most`: what stood before it when it came, if that was before.
  Forecast forecast(const ExpectedWork& work, Duration time_left, const Ahead& at_most) const;
  Forecast forecast(const ExpectedWork& work, Duration time_left) const {
    return forecast(work, time_left, ahead(work.model, work.priority));
  }
  // Until a request of the model, of normal priority, that came now would find a row in its batches: nothing
  // while there are some.
  Duration wait(ModelId model) const;
  // How long all that is accepted will take.
  Duration backlog() const;
  // Device time taken per time estimated, of late.
  double slowdown() const { return slowdown_; }

 private:
  // Whether several clients ask.
  struct Asked {
    std::uint64_t last = 0;            // who did last
    double others_at_us = -kOthersUs;  // of busy time: when it was another than before
  };
  static constexpr double kOthersUs = 10e6;

  struct Load {
    ModelCost cost;
    Asked asked;
    std::array<Ahead, kPriorityClasses> classes;
    double mean_steps = 0;  // of those that were done

    Ahead up_to(PriorityClass priority) const;  // that class and those above it
    double work_us() const;
  };

  static double ahead_us(const Load& load, const Ahead& before);
  double finish_us(const ExpectedWork& work, const Ahead& before) const;
  bool may_be_passed(const ExpectedWork& work) const;

  std::vector<Load> loads_;  // by model
  double slowdown_ = 1.0;
  double estimated_us_ = 0, actual_us_ = 0;  // decaying sums
  double busy_us_ = 0;                       // of the device, in all
};

}  // namespace volvox
