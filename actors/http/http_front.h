#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <caf/all.hpp>

#include "actors/edge/admission.h"
#include "actors/http/http_models.h"
#include "actors/system/actor_slot.h"
#include "base/error.h"
#include "config/schema.h"
#include "monitoring/monitor.h"

namespace volvox {

// What the door needs of the house. The actor system and the monitor outlive it.
struct HttpFrontSetup {
  caf::actor_system& system;
  std::shared_ptr<ActorSlot> runner;  // the manager of this process, or the router of a cluster
  std::shared_ptr<Admission> admission;
  std::shared_ptr<const HttpModels> models;
  Monitor& monitor;
};

// The other door: the Open Inference Protocol v2 over HTTP, for clients that speak no ZeroMQ. A request takes
// the same way as one that came in at the gateway: admission, request actor, runner. A thread of the HTTP
// server waits for its answer, so requests beyond http.max_requests are refused at once, by threads that are
// kept for that and for questions of health. No thread waits for ever: for the client's bytes at most
// http.io_timeout_ms, for an answer at most http.max_wait_ms, and a client that hangs up cancels its request.
// Made, drained and stopped by one thread.
class HttpFront {
 public:
  // Binds and serves.
  static Result<std::unique_ptr<HttpFront>> start(const ServeConfig& config, HttpFrontSetup setup);
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  std::uint16_t port() const;

  // Waits until every accepted request is answered. False: it took too long.
  bool wait_until_answered(Duration timeout);
  // Requests that were accepted and have no answer yet. Any thread.
  std::size_t unanswered() const;
  // Answers what is left UNAVAILABLE.
  void abort_requests();
  // Lets answers that are being written be read, for a moment, and closes all connections.
  void stop();

 private:
  class Impl;
  explicit HttpFront(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace volvox
