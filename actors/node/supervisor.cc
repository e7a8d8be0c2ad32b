#include "actors/node/supervisor.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/node/engine_core.h"
#include "actors/node/manager_actor.h"
#include "actors/node/scheduler_actor.h"
#include "actors/node/worker_actor.h"
#include "actors/system/handoff.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"

namespace volvox {
namespace {

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
    if (setup_.node->faults.supervisor) setup_.node->faults.supervisor();
    for (const NodeDevicePtr& device : setup_.node->devices) {
      Engine& engine = engines_.emplace_back();
      engine.device = device;
      engine.slot = setup_.schedulers[device->number];
      start(engine, setup_.queues[device->number]);
    }
    setup_.queues.clear();
    start_manager();
    setup_.started->set_value();
    return {[this](RetryAtom, std::uint32_t device) { restart(engines_[device]); },
            [this](DrainAtom) {
              draining_ = true;
              if (manager_) self_->send(manager_, DrainAtom::value);
            }};
  }

 private:
  // One device's scheduler and workers.
  struct Engine {
    NodeDevicePtr device;
    std::shared_ptr<ActorSlot> slot;
    caf::actor scheduler;            // invalid: it failed, and there is no new one yet
    std::vector<caf::actor> actors;  // all of them; those that must be gone before new ones start

    bool has(const caf::actor_addr& ended) const {
      return std::any_of(actors.begin(), actors.end(), [&](const caf::actor& own) { return own == ended; });
    }
    void forget(const caf::actor_addr& ended) {
      std::erase_if(actors, [&](const caf::actor& own) { return own == ended; });
    }
  };

  void start_manager() {
    manager_ = watched(spawn_manager(self_->system(), setup_.node));
    if (draining_) self_->send(manager_, DrainAtom::value);
    for (const Engine& engine : engines_) {
      introduce(engine);
      if (engine.scheduler) self_->send(engine.scheduler, UseManager{manager_});
    }
    setup_.manager->set(manager_);
  }

  // An engine without a scheduler takes nothing.
  void introduce(const Engine& engine) {
    if (manager_) self_->send(manager_, UseScheduler{engine.device->number, engine.scheduler});
  }

  void start(Engine& engine, const OpenQueues& queues) {
    const SchedulerConfig config = scheduler_config(*setup_.node);
    auto core = std::make_shared<EngineCore>(config, make_policy(*setup_.node, config));
    engine.scheduler = watched(spawn_scheduler(self_->system(), {setup_.node, engine.device, core}));
    auto workers = std::make_shared<std::vector<caf::actor>>();
    for (WorkerId number = 0; number < queues->size(); ++number) {
      auto queue = std::make_shared<std::unique_ptr<Queue>>(std::move((*queues)[number]));
      workers->push_back(watched(spawn_worker(
          self_->system(), {setup_.node, engine.device, core, number, std::move(queue), engine.scheduler})));
    }
    engine.actors = *workers;
    engine.actors.push_back(engine.scheduler);
    hand_over();
    self_->send(engine.scheduler, UseWorkers{std::move(workers)});
    self_->send(engine.scheduler, UseManager{manager_});
    introduce(engine);
    engine.slot->set(engine.scheduler);
    engine.device->health->set_stuck(0);
    engine.device->health->set_restarting(false);
  }

  // When an actor ended.
  void replace(const caf::actor_addr& ended) {
    if (ending_) return forget(ended);
    if (ended == manager_) {
      count_restart("manager");
      start_manager();
    } else {
      for (Engine& engine : engines_) {
        if (engine.has(ended)) return lose(engine, ended);
      }
    }
  }

  void lose(Engine& engine, const caf::actor_addr& ended) {
    if (engine.scheduler) {
      count_restart("scheduler and the workers of " + engine.device->name);
      engine.scheduler = nullptr;
      engine.slot->set({});
      engine.device->health->set_restarting(true);
      introduce(engine);
      for (const caf::actor& actor : engine.actors) self_->send_exit(actor, caf::exit_reason::kill);
    }
    engine.forget(ended);
    if (engine.actors.empty()) restart(engine);
  }

  void restart(Engine& engine) {
    if (ending_ || engine.scheduler) return;
    const auto queues = open_queues(*setup_.node, *engine.device);
    if (queues) return start(engine, *queues);
    spdlog::error("{} cannot be opened again: {}", engine.device->name, to_string(queues.error()));
    self_->delayed_send(self_, kRetry, RetryAtom::value, engine.device->number);
  }

  void end() {
    if (std::exchange(ending_, true)) return;
    setup_.manager->set({});
    if (manager_) last_.push_back(manager_);
    for (Engine& engine : engines_) {
      engine.slot->set({});
      last_.insert(last_.end(), engine.actors.begin(), engine.actors.end());
    }
    for (const caf::actor& actor : last_) self_->send_exit(actor, caf::exit_reason::user_shutdown);
    if (last_.empty()) self_->quit();
  }

  void forget(const caf::actor_addr& ended) {
    std::erase_if(last_, [&](const caf::actor& actor) { return actor == ended; });
    if (last_.empty()) self_->quit();
  }

  caf::actor watched(caf::actor actor) {
    self_->monitor(actor);
    return actor;
  }

  void count_restart(const std::string& name) {
    spdlog::warn("replacing the {}", name);
    setup_.node->metrics->restarted();
  }

  caf::event_based_actor* self_;
  SupervisorSetup setup_;
  caf::actor manager_;
  std::vector<Engine> engines_;   // by the device's number
  std::vector<caf::actor> last_;  // that an ending supervisor waits for
  bool draining_ = false, ending_ = false;
};

}  // namespace

Result<OpenQueues> open_queues(const Node& node, const NodeDevice& device) {
  auto queues = std::make_shared<std::vector<std::unique_ptr<Queue>>>();
  for (std::uint32_t i = 0; i < node.config.device.queues; ++i) {
    auto queue = device.open_queue();
    if (!queue) return tl::unexpected(queue.error());
    queues->push_back(std::move(*queue));
  }
  return queues;
}

caf::actor spawn_supervisor(caf::actor_system& system, SupervisorSetup setup) {
  return spawn_shell<SupervisorShell>(system, std::move(setup));
}

}  // namespace volvox
