#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/system/handoff.h"

namespace volvox {

// Ends the actor that threw; its supervisor hears of it, the process lives on.
inline caf::error end_failed_actor(const char* name, std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    spdlog::error("the {} failed: {}", name, error.what());
  } catch (...) {
    spdlog::error("the {} failed", name);
  }
  return caf::make_error(caf::sec::runtime_error);
}

// An actor here is a Shell: a class with a constructor (self, setup) and a member behavior(). It is created
// on the actor's own thread and destroyed as soon as the actor ends, whoever still has a handle to it. It
// lies in the actor's own memory: there is an actor for each request.
template <class Shell, class Setup>
class ShellActor final : public HandingActor {
 public:
  ShellActor(caf::actor_config& config, Setup setup) : HandingActor(config), setup_(std::move(setup)) {}

  const char* name() const override { return Shell::kName; }
  caf::behavior make_behavior() override {
    set_exception_handler([](caf::scheduled_actor*, std::exception_ptr& thrown) {
      return end_failed_actor(Shell::kName, thrown);
    });
    Setup setup = std::move(*setup_);
    setup_.reset();
    shell_.emplace(this, std::move(setup));
    return shell_->behavior();
  }
  void on_exit() override {
    setup_.reset();
    shell_.reset();
  }

 private:
  std::optional<Setup> setup_;
  std::optional<Shell> shell_;
};

template <class Shell, caf::spawn_options kOptions = caf::no_spawn_options, class Setup>
caf::actor spawn_shell(caf::actor_system& system, Setup&& setup) {
  return system.spawn<ShellActor<Shell, std::decay_t<Setup>>, kOptions>(std::forward<Setup>(setup));
}

}  // namespace volvox
