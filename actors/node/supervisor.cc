#include "actors/node/supervisor.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/node/engine_core.h"
#include "actors/node/manager_actor.h"
#include "actors/node/scheduler_actor.h"
#include "actors/node/worker_actor.h"
#include "actors/sessions/state_copier.h"
#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"
#include "base/clock.h"

namespace volvox {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(200);
constexpr Duration kLongLife = std::chrono::seconds(1);
constexpr std::uint32_t kShortLives = 50;

// How long those lived who were replaced, one after the other. Many that end as soon as they begin have a
// reason that is still there, so the next one waits for a moment; a few may have met requests that they could
// not bear.
class Lives {
 public:
  void begin() { since_ = steady_now(); }
  // Returns whether the next one is to wait.
  bool end() {
    short_ = steady_now() - since_ < kLongLife ? short_ + 1 : 0;
    return short_ > kShortLives;
  }

 private:
  TimePoint since_{};
  std::uint32_t short_ = 0;
};

class SupervisorShell {
 public:
  static constexpr const char* kName = "supervisor";

  SupervisorShell(caf::event_based_actor* self, SupervisorSetup setup)
      : self_(self),
        setup_(std::move(setup)),
        copier_(std::make_shared<StateCopier>(setup_.node->devices.size())) {
    self_->set_down_handler([this](const caf::down_msg& down) { replace(down.source); });
    self_->set_exit_handler([this](const caf::exit_msg&) { end(); });
  }
  // Who fails leaves nobody behind: a scheduler and its workers keep each other alive, and the system waits
  // for all. To those that have ended already it is nothing.
  ~SupervisorShell() {
    for (const Engine& engine : engines_) {
      for (const caf::actor& actor : engine.actors) kill(actor);
    }
    if (manager_) kill(manager_);
  }
  SupervisorShell(const SupervisorShell&) = delete;
  SupervisorShell& operator=(const SupervisorShell&) = delete;

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
    return {[this](RetryAtom, std::uint32_t device) { try_again(engines_[device]); },
            [this](RetryAtom) { restart_manager(); },
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
    bool waits = false;              // it could not start, and is tried again in a moment
    Lives lives;

    bool has(const caf::actor_addr& ended) const {
      return std::any_of(actors.begin(), actors.end(), [&](const caf::actor& own) { return own == ended; });
    }
    void forget(const caf::actor_addr& ended) {
      std::erase_if(actors, [&](const caf::actor& own) { return own == ended; });
    }
  };

  void start_manager() {
    manager_ = watched(spawn_manager(self_->system(), {setup_.node, copier_}));
    if (draining_) self_->send(manager_, DrainAtom::value);
    for (const Engine& engine : engines_) {
      introduce(engine);
      if (engine.scheduler) self_->send(engine.scheduler, UseManager{manager_});
    }
    setup_.manager->set(manager_);
    manager_lives_.begin();
  }

  // An engine without a scheduler takes nothing.
  void introduce(const Engine& engine) {
    if (manager_) self_->send(manager_, UseScheduler{engine.device->number, engine.scheduler});
  }

  void start(Engine& engine, const OpenQueues& queues) {
    if (setup_.node->faults.engine) setup_.node->faults.engine();
    const SchedulerConfig config = scheduler_config(*setup_.node);
    auto core = std::make_shared<EngineCore>(config, make_policy(*setup_.node, config));
    engine.actors.reserve(queues->size() + 1);  // none of them may get lost
    const auto own = [&](const caf::actor& actor) { return engine.actors.emplace_back(watched(actor)); };
    engine.scheduler = own(spawn_scheduler(self_->system(), {setup_.node, engine.device, core}));
    auto workers = std::make_shared<std::vector<caf::actor>>();
    for (WorkerId number = 0; number < queues->size(); ++number) {
      auto queue = std::make_shared<std::unique_ptr<Queue>>(std::move((*queues)[number]));
      workers->push_back(own(spawn_worker(
          self_->system(), {setup_.node, engine.device, core, number, std::move(queue), engine.scheduler})));
    }
    hand_over();
    self_->send(engine.scheduler, UseWorkers{std::move(workers)});
    self_->send(engine.scheduler, UseManager{manager_});
    introduce(engine);
    engine.slot->set(engine.scheduler);
    engine.lives.begin();
    engine.device->health->set_stuck(0);
    engine.device->health->set_restarting(false);
  }

  // When an actor ended.
  void replace(const caf::actor_addr& ended) {
    if (ending_) return forget(ended);
    if (ended == manager_) {
      count_restart("manager of", setup_.node->config.server.name);
      manager_lives_.end() ? insist([&] { pause_manager(); }) : restart_manager();
    } else {
      for (Engine& engine : engines_) {
        if (engine.has(ended)) return lose(engine, ended);
      }
    }
  }

  void lose(Engine& engine, const caf::actor_addr& ended) {
    if (engine.scheduler) {
      insist([&] { stop(engine); });
      count_restart("scheduler and the workers of", engine.device->name);
      if (engine.lives.end()) pause(engine);
    }
    engine.forget(ended);
    restart(engine);
  }

  void stop(Engine& engine) {
    engine.scheduler = nullptr;
    engine.slot->set({});
    engine.device->health->set_restarting(true);
    introduce(engine);
    for (const caf::actor& actor : engine.actors) self_->send_exit(actor, caf::exit_reason::kill);
  }

  void try_again(Engine& engine) {
    engine.waits = false;
    restart(engine);
  }

  // Once the last of the old ones is gone. What cannot be had now, memory, a thread or a queue, may be had in
  // a moment; a supervisor that failed of it could replace nobody any more.
  void restart(Engine& engine) {
    if (ending_ || engine.waits || !engine.actors.empty()) return;
    try {
      const auto queues = open_queues(*setup_.node, *engine.device);
      if (queues) return start(engine, *queues);
      spdlog::error("{} cannot be opened again: {}", engine.device->name, to_string(queues.error()));
    } catch (const std::exception& error) {
      spdlog::error("{} cannot be started again: {}", engine.device->name, error.what());
      insist([&] { stop(engine); });
    }
    pause(engine);
  }

  void pause(Engine& engine) {
    engine.waits = true;
    insist([&] { self_->delayed_send(self_, kRetry, RetryAtom::value, engine.device->number); });
  }

  void restart_manager() {
    if (ending_) return;
    manager_ = nullptr;
    try {
      start_manager();
      if (setup_.node->faults.new_manager) setup_.node->faults.new_manager();
      return;
    } catch (const std::exception& error) {
      spdlog::error("the manager cannot be started again: {}", error.what());
    }
    insist([&] {
      if (manager_) self_->send_exit(manager_, caf::exit_reason::kill);
      pause_manager();
    });
  }

  // The next one comes when it is time, not when this one has ended.
  void pause_manager() {
    setup_.manager->set({});
    self_->delayed_send(self_, kRetry, RetryAtom::value);
    manager_ = nullptr;
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

  static void kill(const caf::actor& actor) {
    insist([&] { caf::anon_send_exit(actor, caf::exit_reason::kill); });
  }

  caf::actor watched(caf::actor actor) {
    insist([&] { self_->monitor(actor); });
    return actor;
  }

  void count_restart(const char* what, const std::string& of) {
    spdlog::warn("replacing the {} {}", what, of);
    setup_.node->metrics->restarted();
  }

  caf::event_based_actor* self_;
  SupervisorSetup setup_;
  const StateCopierPtr copier_;  // of the managers, one after the other
  caf::actor manager_;
  Lives manager_lives_;
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
