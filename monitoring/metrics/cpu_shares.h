#pragma once

#include <map>
#include <span>
#include <string>

#include "monitoring/metrics/engine_snapshot.h"

namespace volvox {

// Divides the CPU time of the process into what passed inside kernels, which the devices' schedulers count,
// and the rest. Neither part ever falls, although a scheduler may not answer for once, and one that takes the
// place of another counts from zero. One thread at a time.
class CpuShares {
 public:
  // Who has answered, and what the process has used since it started. In the order in which they answered:
  // less than before stands for a scheduler that is new.
  void update(std::span<const EngineSnapshot> engines, double process_seconds);

  double inside() const { return inside_; }
  double outside() const { return outside_; }

 private:
  struct Device {
    double before = 0;  // of schedulers that were replaced
    double now = 0;
    int missed = 0;  // updates in a row
  };

  std::map<std::string, Device> devices_;
  double inside_ = 0, outside_ = 0;
};

}  // namespace volvox
