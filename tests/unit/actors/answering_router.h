#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/system/actor_slot.h"
#include "actors/system/handoff.h"
#include "actors/work/messages.h"

namespace volvox {

// Stands where doors look for whoever runs requests, and does with each request what the test says, on a
// thread of its own. What the test does not settle waits until it is cancelled.
class AnsweringRouter {
 public:
  using Run = std::function<void(const WorkPtr&)>;

  explicit AnsweringRouter(Run run) {
    actor_ = system.spawn(behavior, std::move(run));
    slot->set(actor_);
  }
  ~AnsweringRouter() {
    slot->set({});
    caf::anon_send_exit(std::exchange(actor_, nullptr), caf::exit_reason::kill);
  }
  AnsweringRouter(const AnsweringRouter&) = delete;
  AnsweringRouter& operator=(const AnsweringRouter&) = delete;

 private:
  static caf::behavior behavior(caf::event_based_actor*, const Run& run) {
    const auto waiting = std::make_shared<std::map<std::uint64_t, WorkPtr>>();
    return {[run, waiting](const RunWork& asked) {
              take_over();
              run(asked.work);
              if (!asked.work->settled()) waiting->emplace(asked.work->request().key, asked.work);
            },
            [run, waiting](const RunWorks& asked) {
              take_over();
              for (const WorkPtr& work : *asked.works) {
                run(work);
                if (!work->settled()) waiting->emplace(work->request().key, work);
              }
            },
            [waiting](const CancelWork& cancel) { waiting->erase(cancel.key); }};
  }

  caf::actor_system_config config_;

 public:
  caf::actor_system system{config_};
  const std::shared_ptr<ActorSlot> slot = std::make_shared<ActorSlot>();

 private:
  caf::actor actor_;
};

// An outcome with one output of so many bytes, all zero.
inline Outcome outcome_of(std::size_t bytes) {
  struct Kept {
    std::vector<std::int64_t> values;
    WireTensor output;
  };
  const auto kept = std::make_shared<Kept>();
  kept->values.resize(bytes / sizeof(std::int64_t));
  const auto count = static_cast<std::int64_t>(kept->values.size());
  kept->output = {"h", WireType::kI64, {count}, std::as_bytes(std::span(kept->values))};
  Outcome outcome;
  outcome.outputs = {&kept->output, 1};
  outcome.owner = kept;
  return outcome;
}

}  // namespace volvox
