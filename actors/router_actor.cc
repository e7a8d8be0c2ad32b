#include "actors/router_actor.h"

#include "actors/handoff.h"
#include "actors/messages.h"
#include "actors/shell.h"
#include "routing/router.h"

namespace volvox {
namespace {

constexpr NodeId kThisNode = 0;

struct RouterSetup {};

class RouterShell {
 public:
  static constexpr const char* kName = "router";

  RouterShell(caf::event_based_actor* self, RouterSetup) : self_(self) {}

  caf::behavior behavior() {
    return {[this](const UseManager& use) { use_manager(use.manager); },
            [this](const RunWork& run) { place(run.work); },
            [this](const CancelWork& cancel) {
              if (manager_) self_->send(manager_, cancel);
            }};
  }

 private:
  void use_manager(const caf::actor& manager) {
    manager_ = manager;
    if (!manager_) return router_.leave(kThisNode);
    static_cast<void>(router_.join(kThisNode));  // the only node there is
  }

  void place(const WorkPtr& work) {
    take_over();
    const RequestHeader& header = work->request().header;
    const auto node = router_.place({header.model, header.model_version, header.cells_hint});
    if (!node) return work->settle(node.error());
    hand_over();
    self_->send(manager_, RunWork{work});
  }

  caf::event_based_actor* self_;
  Router router_;
  caf::actor manager_;
};

}  // namespace

caf::actor spawn_router(caf::actor_system& system) {
  return system.spawn(run_shell<RouterShell, RouterSetup>, RouterSetup{});
}

}  // namespace volvox
