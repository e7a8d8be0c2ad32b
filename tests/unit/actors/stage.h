#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "actors/edge/reply_sink.h"
#include "actors/work/messages.h"
#include "base/clock.h"

namespace volvox {

// An actor system without threads: actors run when the test says so, and time passes when it says so.
class Stage {
 public:
  Stage() : system(config_) {}
  caf::scheduler::test_coordinator& coordinator() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }
  void run() { coordinator().run(); }

 private:
  struct Config : caf::actor_system_config {
    Config() { set("scheduler.policy", caf::atom("testing")); }
  };
  Config config_;

 public:
  caf::actor_system system;
};

// Remembers the answers.
struct RecordingSink : ReplySink {
  struct Answer {
    std::uint64_t key;
    std::optional<Error> error;
    bool undecided = false;
  };
  void answer(const IncomingRequest& request, const Outcome& outcome) override {
    answers.push_back({request.key, outcome.error, outcome.undecided});
  }
  std::vector<Answer> answers;
};

// For whoever changes it before it is shared.
inline std::shared_ptr<IncomingRequest> new_request(std::uint64_t key, std::uint64_t deadline_us = 0) {
  auto request = std::make_shared<IncomingRequest>();
  request->key = key;
  request->arrival = steady_now();
  request->header.model = "check";
  request->header.request_id = key;
  request->header.deadline_us = deadline_us;
  return request;
}

inline RequestPtr request_with(std::uint64_t key, std::uint64_t deadline_us = 0) {
  return new_request(key, deadline_us);
}

}  // namespace volvox
