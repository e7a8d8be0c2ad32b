#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <caf/actor.hpp>

#include "actors/node/job_maker.h"
#include "actors/node/node.h"
#include "actors/sessions/part_reader.h"
#include "actors/system/actor_slot.h"
#include "actors/work/work.h"
#include "base/error.h"

namespace volvox {

// The way of a request that stands alone, from the bytes as which it came to a device's scheduler: it is
// checked against its model, the device is chosen, its inputs are staged and its cell graph is made. A door
// does that on its own thread where it takes little, for to wake another one takes longer; the reader of
// large bodies does it for the rest, and the manager for what has to be run again. Keeps nothing of a
// request. Any thread.
class Dispatcher {
 public:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};  // no device
  static constexpr std::size_t kSmallBody = 16'384;             // bytes that a thread for all may look at

  // The schedulers of the moment; a slot that is empty is a device that takes nothing.
  Dispatcher(NodePtr node, SchedulerSlots schedulers);

  // Hands the work to the scheduler of any device but `avoided`, or settles it with what is wrong.
  // `manager`: to whom it comes back where there are several devices and its own fails, or has failed
  // since it was chosen: then once the caller has let go of the work.
  void run(const WorkPtr& work, const caf::actor& manager, std::uint32_t avoided = kNowhere) const;

  // What takes long of a part of a session, before the manager looks at it.
  void read_ahead(Work& part) const { parts_.read_ahead(part); }

  // The device with the least left to do, if one but `avoided` can be used.
  std::optional<std::uint32_t> device_but(std::uint32_t avoided) const;
  // A device whose queues all hang is better than none: they may go on.
  bool usable(std::uint32_t device) const;

 private:
  Status prepare(Work& work, std::uint32_t avoided) const;
  Result<ModelPtr> find_model(const IncomingRequest& request) const;
  Status check_time(const Work& work) const;

  NodePtr node_;
  SchedulerSlots schedulers_;  // by device
  JobMaker jobs_;
  PartReader parts_;
};

}  // namespace volvox
