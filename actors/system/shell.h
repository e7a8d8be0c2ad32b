#pragma once

#include <exception>
#include <memory>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

namespace volvox {

// An actor here is a Shell: a class with a constructor (self, setup) and a member behavior(). It is created
// on the actor's own thread and destroyed as soon as the actor ends, whoever still has a handle to it.
template <class Shell>
struct ShellState {
  std::unique_ptr<Shell> shell;
};

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

// The function to spawn: spawn(run_shell<Shell, Setup>, setup).
template <class Shell, class Setup>
caf::behavior run_shell(caf::stateful_actor<ShellState<Shell>>* self, Setup setup) {
  self->set_exception_handler([](caf::scheduled_actor*, std::exception_ptr& thrown) {
    return end_failed_actor(Shell::kName, thrown);
  });
  self->state.shell = std::make_unique<Shell>(self, std::move(setup));
  return self->state.shell->behavior();
}

}  // namespace volvox
