#include "actors/node/body_reader.h"

#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/system/handoff.h"
#include "actors/system/shell.h"
#include "actors/work/messages.h"

namespace volvox {
namespace {

class BodyReaderShell {
 public:
  static constexpr const char* kName = "reader of large bodies";

  BodyReaderShell(caf::event_based_actor* self, BodyReaderSetup setup)
      : self_(self), setup_(std::move(setup)) {}

  caf::behavior behavior() {
    return {[this](const RunWork& run) {
              take_over();
              hand_on(run.work);
            },
            [this](const CancelWork& cancelled) {
              if (const caf::actor manager = setup_.manager->get()) self_->send(manager, cancelled);
            }};
  }

 private:
  void hand_on(const WorkPtr& work) const {
    if (setup_.node->faults.reader) setup_.node->faults.reader(work->request());
    try {
      setup_.dispatcher->run(work, setup_.manager->get());
    } catch (const std::exception& error) {  // the work, lost now, answers
      spdlog::error("a large request could not be handed on: {}", error.what());
    }
  }

  caf::event_based_actor* self_;
  const BodyReaderSetup setup_;
};

}  // namespace

caf::actor spawn_body_reader(caf::actor_system& system, BodyReaderSetup setup) {
  return spawn_shell<BodyReaderShell, caf::detached>(system, std::move(setup));
}

}  // namespace volvox
