#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "actors/edge/reply_sink.h"
#include "base/time.h"

namespace volvox {

// Where a thread waits for the answer to its one request. Shared with the request actor; wait_for() is for
// the thread that sent the request.
class ReplyWaiter : public ReplySink {
 public:
  void answer(const IncomingRequest& request, const Outcome& outcome) override;

  // The answer, if it comes in time; the first time only.
  std::optional<Outcome> wait_for(Duration at_most);

 private:
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<Outcome> outcome_;
};

}  // namespace volvox
