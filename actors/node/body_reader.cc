#include "actors/node/body_reader.h"

#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/edge/large_answer.h"
#include "actors/sessions/session_token.h"
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
              is_session_part(run.work->request().header) ? pass_on(run) : hand_on(run.work);
            },
            [this](const RunWorks& run) {
              take_over();
              pass_on(run);
            },
            [this](const CancelWork& cancelled) { send(cancelled); },
            [this](const CancelWorks& cancelled) {
              take_over();
              send(cancelled);
            },
            [](const WriteAnswer& write) {
              take_over();
              write.answer->write();
            }};
  }

 private:
  void hand_on(const WorkPtr& work) const {
    look_at(*work);
    try {
      setup_.dispatcher->run(work, setup_.manager->get());
    } catch (const std::exception& error) {  // the work, lost now, answers
      spdlog::error("a large request could not be handed on: {}", error.what());
    }
  }

  // What follows it on its connection may go straight once it is in the manager's mailbox, and not before.
  void pass_on(const RunWork& run) {
    const RequestPtr request = run.work->shared_request();
    read_ahead(*run.work);
    if (!send(run)) run.work->settle({ErrorCode::kUnavailable, kNoRunner});
    request->detour.reset();
  }

  void pass_on(const RunWorks& run) {
    const RequestPtr first = run.works->front()->shared_request();
    for (const WorkPtr& work : *run.works) read_ahead(*work);
    if (!send(run)) {
      for (const WorkPtr& work : *run.works) work->settle({ErrorCode::kUnavailable, kNoRunner});
    }
    first->detour.reset();
  }

  void read_ahead(Work& part) const {
    look_at(part);
    setup_.dispatcher->read_ahead(part);
  }

  void look_at(const Work& work) const {
    if (setup_.node->faults.reader) setup_.node->faults.reader(work.request());
  }

  // False: there is no manager now.
  template <class Message>
  bool send(const Message& message) {
    const caf::actor manager = setup_.manager->get();
    if (!manager) return false;
    hand_over();
    self_->send(manager, message);
    return true;
  }

  caf::event_based_actor* self_;
  const BodyReaderSetup setup_;
};

}  // namespace

caf::actor spawn_body_reader(caf::actor_system& system, BodyReaderSetup setup) {
  return spawn_shell<BodyReaderShell, caf::detached>(system, std::move(setup));
}

}  // namespace volvox
