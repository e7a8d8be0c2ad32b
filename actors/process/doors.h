#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "actors/edge/gateway.h"
#include "actors/http/http_front.h"

namespace volvox {

// The doors that clients of a process come through: ZeroMQ's, and perhaps HTTP's. They drain within one time
// and close in one order. add() and what closes: one thread. unanswered(): any.
class Doors {
 public:
  void add(std::shared_ptr<Gateway> gateway);
  void add(std::unique_ptr<HttpFront> front);
  bool are_open() const { return gateway_ != nullptr; }
  Gateway& gateway() { return *gateway_; }

  // Waits until every accepted request is answered. False: it took too long.
  bool wait_until_answered(Duration timeout);
  // Answers what is left UNAVAILABLE, and waits a moment until that is done.
  void abort_requests();
  // Lets answers be read for at most `patience`, and lets go of the doors.
  void close(Duration patience);

  // Requests of clients that were accepted and have no answer yet; or that had none when the doors closed.
  std::size_t unanswered() const;

 private:
  std::size_t count() const;

  mutable std::mutex mutex_;  // guards which doors there are
  std::shared_ptr<Gateway> gateway_;
  std::shared_ptr<HttpFront> front_;
  std::size_t left_ = 0;  // without an answer
};

}  // namespace volvox
