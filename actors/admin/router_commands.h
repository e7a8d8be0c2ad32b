#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actors/admin/trace_commands.h"
#include "actors/system/actor_slot.h"
#include "monitoring/monitor.h"

namespace volvox {

// What an operator can ask of a running router, as AdminCommands of a server: how it is and who its members
// are, that a node be drained, and the log's level. Any thread; the monitor outlives it.
class RouterCommands {
 public:
  RouterCommands(std::string name, std::shared_ptr<const ActorSlot> router, const Monitor& monitor,
                 TraceCommands traces)
      : name_(std::move(name)), router_(std::move(router)), monitor_(monitor), traces_(std::move(traces)) {}

  // `reply` is called once: at once, or by the router's thread.
  void handle(const std::string& line, std::function<void(std::string)> reply) const;

 private:
  const std::string name_;
  const std::shared_ptr<const ActorSlot> router_;
  const Monitor& monitor_;
  const TraceCommands traces_;
};

}  // namespace volvox
