#include "actors/supervisor.h"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/engine_core.h"
#include "actors/handoff.h"
#include "actors/manager_actor.h"
#include "actors/messages.h"
#include "actors/router_actor.h"
#include "actors/scheduler_actor.h"
#include "actors/shell.h"
#include "actors/worker_actor.h"

namespace volvox {
namespace {

using Queues = std::shared_ptr<std::vector<std::unique_ptr<Queue>>>;

constexpr Duration kRetry = std::chrono::milliseconds(200);

class SupervisorShell {
 public:
  static constexpr const char* kName = "supervisor";

  SupervisorShell(caf::event_based_actor* self, SupervisorSetup setup)
      : self_(self), setup_(std::move(setup)) {
    self_->set_down_handler([this](const caf::down_msg& down) { replace(down.source); });
    self_->set_exit_handler([this](const caf::exit_msg&) { end(); });
  }

  caf::behavior behavior() {
    start_engine(std::exchange(setup_.queues, nullptr));
    start_manager();
    start_router();
    setup_.started->set_value();
    return {[this](RetryAtom) { restart_engine(); },
            [this](DrainAtom) {
              draining_ = true;
              if (manager_) self_->send(manager_, DrainAtom::value);
            }};
  }

 private:
  void start_router() {
    router_ = watched(spawn_router(self_->system()));
    self_->send(router_, UseManager{manager_});
    setup_.router->set(router_);
  }

  void start_manager() {
    manager_ = watched(spawn_manager(self_->system(), setup_.node));
    self_->send(manager_, UseScheduler{scheduler_});
    if (draining_) self_->send(manager_, DrainAtom::value);
    if (scheduler_) self_->send(scheduler_, UseManager{manager_});
    if (router_) self_->send(router_, UseManager{manager_});
  }

  void start_engine(const Queues& queues) {
    const SchedulerConfig config = scheduler_config(*setup_.node);
    auto core = std::make_shared<EngineCore>(config, make_policy(*setup_.node, config));
    scheduler_ = watched(spawn_scheduler(self_->system(), {setup_.node, core}));
    auto workers = std::make_shared<std::vector<caf::actor>>();
    for (WorkerId number = 0; number < queues->size(); ++number) {
      auto queue = std::make_shared<std::unique_ptr<Queue>>(std::move((*queues)[number]));
      workers->push_back(
          watched(spawn_worker(self_->system(), {setup_.node, core, number, std::move(queue), scheduler_})));
    }
    engine_ = *workers;
    engine_.push_back(scheduler_);
    hand_over();
    self_->send(scheduler_, UseWorkers{std::move(workers)});
    self_->send(scheduler_, UseManager{manager_});
    if (manager_) self_->send(manager_, UseScheduler{scheduler_});
    setup_.scheduler->set(scheduler_);
    setup_.node->health->set_stuck(0);
    setup_.node->health->set_restarting(false);
  }

  // When an actor ended.
  void replace(const caf::actor_addr& ended) {
    if (ending_) return forget(ended);
    if (ended == router_) {
      count_restart("router");
      start_router();
    } else if (ended == manager_) {
      count_restart("manager");
      start_manager();
    } else {
      lose_engine(ended);
    }
  }

  void lose_engine(const caf::actor_addr& ended) {
    if (scheduler_) {
      count_restart("scheduler and its workers");
      scheduler_ = nullptr;
      setup_.scheduler->set({});
      setup_.node->health->set_restarting(true);
      if (manager_) self_->send(manager_, UseScheduler{});
      for (const caf::actor& actor : engine_) self_->send_exit(actor, caf::exit_reason::kill);
    }
    forget(ended);
    if (engine_.empty()) restart_engine();
  }

  void restart_engine() {
    if (ending_ || scheduler_) return;
    const auto queues = open_queues(*setup_.node);
    if (queues) return start_engine(*queues);
    spdlog::error("the device cannot be opened again: {}", to_string(queues.error()));
    self_->delayed_send(self_, kRetry, RetryAtom::value);
  }

  void end() {
    if (std::exchange(ending_, true)) return;
    setup_.router->set({});
    setup_.scheduler->set({});
    for (const caf::actor& actor : {router_, manager_}) {
      if (actor) engine_.push_back(actor);
    }
    for (const caf::actor& actor : engine_) self_->send_exit(actor, caf::exit_reason::user_shutdown);
    if (engine_.empty()) self_->quit();
  }

  void forget(const caf::actor_addr& ended) {
    std::erase_if(engine_, [&](const caf::actor& actor) { return actor == ended; });
    if (ending_ && engine_.empty()) self_->quit();
  }

  caf::actor watched(caf::actor actor) {
    self_->monitor(actor);
    return actor;
  }

  void count_restart(const char* name) {
    spdlog::warn("replacing the {}", name);
    setup_.node->metrics->restarted();
  }

  caf::event_based_actor* self_;
  SupervisorSetup setup_;
  caf::actor router_, manager_, scheduler_;
  std::vector<caf::actor> engine_;  // scheduler and workers; those that must be gone before new ones start
  bool draining_ = false, ending_ = false;
};

}  // namespace

Result<Queues> open_queues(const Node& node) {
  auto queues = std::make_shared<std::vector<std::unique_ptr<Queue>>>();
  for (std::uint32_t i = 0; i < node.config.device.queues; ++i) {
    auto queue = node.open_queue();
    if (!queue) return tl::unexpected(queue.error());
    queues->push_back(std::move(*queue));
  }
  return queues;
}

caf::actor spawn_supervisor(caf::actor_system& system, SupervisorSetup setup) {
  return system.spawn(run_shell<SupervisorShell, SupervisorSetup>, std::move(setup));
}

}  // namespace volvox
