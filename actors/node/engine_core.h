#pragma once

#include <cstdint>
#include <memory>

#include "actors/work/work.h"
#include "base/recycled_map.h"
#include "batching/scheduler.h"
#include "install/stopping.h"

namespace volvox {

// A scheduler's brain and the requests that live in it. Only the scheduler actor touches it; the workers keep
// it alive, so that what a running task may read or write goes away after their queues, in whatever order the
// actors end.
struct EngineCore {
  struct Live {
    WorkPtr work;
    RequestId id;
    SequenceEnds ends;
    bool told = false;  // that a task of it hangs; it is kept, untouched, until that task ends
  };

  EngineCore(const SchedulerConfig& config, std::unique_ptr<Policy> policy)
      : brain(config, std::move(policy)) {}

  Scheduler brain;
  RecycledMap<Live> live;  // by Request::tag
};

}  // namespace volvox
