#include "actors/process/keeper.h"

#include <chrono>
#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/system/shell.h"
#include "actors/work/messages.h"
#include "base/clock.h"

namespace volvox {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(200);
constexpr Duration kLongLife = std::chrono::seconds(1);  // who lived for less is not replaced at once

class KeeperShell {
 public:
  static constexpr const char* kName = "keeper";

  KeeperShell(caf::event_based_actor* self, KeeperSetup setup) : self_(self), setup_(std::move(setup)) {
    self_->set_down_handler([this](const caf::down_msg& down) { lose(down); });
    self_->set_exit_handler([this](const caf::exit_msg&) { end(); });
  }

  caf::behavior behavior() {
    keep(std::exchange(setup_.first, nullptr));
    return {[this](RetryAtom) { restart(); }};
  }

 private:
  void keep(caf::actor actor) {
    self_->monitor(actor);
    setup_.slot->set(actor);
    kept_ = std::move(actor);
    since_ = steady_now();
  }

  void lose(const caf::down_msg& down) {
    if (down.source != kept_) return;
    kept_ = nullptr;
    setup_.slot->set({});
    if (ending_ || !down.reason) return self_->quit();
    spdlog::error("the {} has ended: {}; starting another", setup_.name, self_->system().render(down.reason));
    if (steady_now() - since_ >= kLongLife) return restart();
    self_->delayed_send(self_, kPause, RetryAtom::value);
  }

  void restart() {
    if (ending_ || kept_) return;
    auto next = make();
    if (next) {
      keep(std::move(*next));
      if (setup_.restarted) setup_.restarted();
      return spdlog::warn("the {} has been replaced", setup_.name);
    }
    spdlog::error("there is no {} for now: {}", setup_.name, to_string(next.error()));
    self_->delayed_send(self_, kPause, RetryAtom::value);
  }

  Result<caf::actor> make() const {
    try {
      return setup_.restart();
    } catch (const std::exception& error) {
      return fail(ErrorCode::kInternal, error.what());
    }
  }

  void end() {
    if (std::exchange(ending_, true)) return;
    setup_.slot->set({});
    if (!kept_) return self_->quit();
    self_->send_exit(kept_, caf::exit_reason::user_shutdown);
  }

  caf::event_based_actor* self_;
  KeeperSetup setup_;
  caf::actor kept_;  // invalid: there is none
  TimePoint since_{};
  bool ending_ = false;
};

}  // namespace

caf::actor spawn_keeper(caf::actor_system& system, KeeperSetup setup) {
  return spawn_shell<KeeperShell, caf::detached>(system, std::move(setup));
}

}  // namespace volvox
