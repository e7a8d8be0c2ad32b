#include "actors/node/router_actor.h"

#include "actors/process/liveness.h"
#include "actors/system/handoff.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"

namespace volvox {
namespace {

struct RouterSetup {};

class RouterShell {
 public:
  static constexpr const char* kName = "router";

  RouterShell(caf::event_based_actor* self, RouterSetup) : self_(self) {}

  caf::behavior behavior() {
    return {[this](const UseManager& use) { manager_ = use.manager; },
            [this](const RunWork& run) { pass_on(run.work); },
            [this](const AliveQuery& query) {
              if (manager_) self_->send(manager_, query);
            },
            [this](const CancelWork& cancel) {
              if (manager_) self_->send(manager_, cancel);
            }};
  }

 private:
  void pass_on(const WorkPtr& work) {
    take_over();
    if (!manager_)
      return work->settle({ErrorCode::kUnavailable, "the node takes no requests now; try again soon"});
    hand_over();
    self_->send(manager_, RunWork{work});
  }

  caf::event_based_actor* self_;
  caf::actor manager_;
};

}  // namespace

caf::actor spawn_router(caf::actor_system& system) {
  return system.spawn(run_shell<RouterShell, RouterSetup>, RouterSetup{});
}

}  // namespace volvox
