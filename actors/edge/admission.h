#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <caf/actor.hpp>

#include "actors/edge/client_shares.h"
#include "actors/edge/in_flight.h"
#include "actors/node/dispatcher.h"
#include "actors/node/node.h"
#include "actors/system/actor_slot.h"
#include "actors/work/work.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "config/schema.h"
#include "protocol/limits.h"
#include "serving/priority_rights.h"
#include "serving/retry_spread.h"
#include "tracing/recorder.h"

namespace volvox {

// Why a request is not taken in.
struct Refusal {
  Error error;
  std::uint64_t retry_after_us = 0;  // with OVERLOADED: by estimate; 0: no advice
};

tl::unexpected<Refusal> refused(Error error, std::uint64_t retry_after_us = 0);

// A request's body as a door offers it: bytes that are only lent, and are kept for who is admitted as the
// door says, or copied; or a body that can be kept as it is.
class OfferedBody {
 public:
  using Keep = std::function<std::shared_ptr<const WireBuffer>()>;  // called once, at most

  OfferedBody() = default;
  OfferedBody(std::span<const std::byte> lent) : lent_(lent) {}  // NOLINT(google-explicit-constructor)
  OfferedBody(std::span<const std::byte> lent, Keep keep) : lent_(lent), keep_(std::move(keep)) {}
  OfferedBody(IncomingBody kept) : kept_(std::move(kept)) {}  // NOLINT(google-explicit-constructor)

  std::size_t size() const { return lent_.size() + kept_.size(); }
  IncomingBody keep() &&;
  // Lent bytes as they came.
  std::shared_ptr<const WireBuffer> keep_bytes() && {
    return keep_ ? keep_() : WireBuffer::share_copy_of(lent_);
  }

 private:
  std::span<const std::byte> lent_;
  Keep keep_;
  IncomingBody kept_;
};

// What became of the parts of a bundle at a door: each is in one of them.
struct AdmittedBundle {
  struct Refused {
    std::uint32_t part = 0;
    Refusal why;
  };
  std::vector<std::shared_ptr<IncomingRequest>> parts;  // ids: the bundle's and their number
  std::vector<Refused> refused;
};

// A request may come in by more than one door, and all doors share the same bounds. Each shows its requests
// here first, before any work is done for them: refused, or numbered, counted, its body kept, and its
// deadline and priority set as its model's table says. Any thread.
class Admission {
 public:
  // With a dispatcher, doors hand requests to a scheduler themselves. `reader`: who reads large bodies, and
  // writes large answers.
  Admission(const ServeConfig& config, const NodePtr& node,
            std::shared_ptr<const Dispatcher> dispatcher = nullptr,
            std::shared_ptr<const ActorSlot> reader = nullptr);
  // Of a process that runs no models itself: of requests it sees the header only, and names no model. No
  // recorder: none is traced.
  Admission(const ServeConfig& config, RequestMetrics& metrics,
            std::shared_ptr<TraceRecorder> traces = nullptr);

  // UNAVAILABLE during a drain or while the device hangs, INVALID_ARGUMENT for a body that is too large,
  // MODEL_NOT_FOUND, OVERLOADED past a bound or where what is accepted leaves too little time,
  // DEADLINE_EXCEEDED where there would be too little anyway. The share of the bounds is given back with the
  // last reference to the request. No model: the header says which.
  tl::expected<std::shared_ptr<IncomingRequest>, Refusal> admit(Caller caller, RequestHeader header,
                                                                OfferedBody body, ModelPtr model = nullptr);
  // A bundle, whose parts are each admitted as if they had come alone; its body is lent, and kept as one.
  // Refused as a whole: it cannot be read, or nothing may come in.
  tl::expected<AdmittedBundle, Refusal> admit_bundle(Caller caller, RequestHeader header, OfferedBody body);
  // What a message holds of the bounds: a request, or a bundle of so many, before it is looked at more
  // closely. OVERLOADED past a bound.
  using Shares = std::pair<InFlightShare, ClientShare>;  // of the bounds of all, and of those of the client
  tl::expected<Shares, Refusal> enter(const Caller& caller, const InFlightAmount& amount);
  // Whether it has all the time in the world and no priority, as the model's table and the client's rights
  // say too: nobody watches the deadline of what has not been admitted, nor lets it pass others.
  bool may_wait(const Caller& caller, const RequestHeader& header) const;
  // Whether requests are admitted at all: during a drain and while the device hangs, they are refused at
  // once.
  bool lets_in() const { return !draining_ && (!node_ || node_->answers()); }
  // Parts that wait at a door, and those that it has admitted: estimates count them as alike.
  void set_waiting(std::size_t waiting, std::size_t admitted) const {
    if (node_) node_->workload->set_waiting(waiting, admitted);
  }
  // The priority as the client may have it.
  void apply_rights(const Caller& caller, RequestHeader& header) const;
  // The deadline and the priority as the model's table says.
  void apply_rules(RequestHeader& header) const;
  // With what a door's thread hands on a request whose body has so many bytes, when all requests of the door
  // wait for that thread; or when others do not. Null: it leaves that to the runner.
  const Dispatcher* dispatcher_for(std::size_t body_bytes) const {
    return body_bytes <= Dispatcher::kSmallBody ? dispatcher() : nullptr;
  }
  const Dispatcher* dispatcher() const { return dispatcher_.get(); }
  // To whom such a door hands on a request otherwise, or the parts of a bundle: to `runner`, or to whoever
  // reads what is large; then also parts of sessions that follow. To be asked right before.
  caf::actor runner_for(const IncomingRequest& request, const ActorSlot& runner) const;
  caf::actor runner_for(std::span<const RequestPtr> parts, const ActorSlot& runner) const;
  void refuse_new_requests() { draining_ = true; }
  bool draining() const { return draining_; }
  bool runs_models() const { return node_ != nullptr; }

  const InFlightGauge& gauge() const { return *gauge_; }
  std::size_t clients() const { return clients_->clients(); }  // with requests in flight
  Duration backlog() const { return node_ ? node_->workload->backlog() : Duration::zero(); }
  // What a client that is refused OVERLOADED is told to wait: until what is accepted has been worked off.
  std::uint64_t retry_after_us() const;
  // The same for one of many who are refused now: so that they do not come back together.
  std::uint64_t spread(std::uint64_t retry_after_us) const {
    return spread_retry_us(retry_after_us, refusals_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  Admission(const ServeConfig& config, RequestMetrics& metrics, NodePtr node,
            std::shared_ptr<const Dispatcher> dispatcher, std::shared_ptr<const ActorSlot> reader,
            std::shared_ptr<TraceRecorder> traces);
  // It has its number, door, header and model.
  void begin_trace(IncomingRequest& request) const;
  Status check_door(std::size_t body_bytes) const;
  struct Bundle;
  tl::expected<std::shared_ptr<IncomingRequest>, Refusal> admit_part(const Bundle& bundle, std::uint32_t part,
                                                                     ClientShare own);
  tl::expected<BundleBodyPtr, Refusal> keep_bundle(const Caller& caller, const RequestHeader& header,
                                                   OfferedBody body);
  // Takes the request's place in the estimate, unless it would end too late.
  tl::expected<void, Refusal> expect(const InstalledModel& model, const IncomingRequest& request);
  // Stands for the caller's connection, and for the caller: IncomingRequest says of whom each is.
  std::uint64_t connection_of(const Caller& caller) const;
  std::uint64_t client_of(const Caller& caller, std::uint64_t connection) const;
  std::uint64_t number_of(std::string_view name) const;

  caf::actor runner_of(const IncomingRequest& part, bool large, const ActorSlot& runner) const;

  const std::vector<ModelSection> models_;
  const PriorityRights rights_;
  const WireLimits limits_;
  const std::size_t max_body_bytes_;
  const std::uint64_t least_retry_us_;
  RequestMetrics& metrics_;
  const NodePtr node_;  // null: this process runs no models
  const std::shared_ptr<const Dispatcher> dispatcher_;
  const std::shared_ptr<const ActorSlot> reader_;  // null: large bodies are the runner's
  const std::shared_ptr<Detours> detours_ = std::make_shared<Detours>();  // by way of the reader
  const std::shared_ptr<TraceRecorder> traces_;                           // null: none is traced
  std::shared_ptr<InFlightGauge> gauge_;
  std::shared_ptr<ClientShares> clients_;
  const HashKey number_key_;
  std::atomic<std::uint64_t> next_key_{1};
  mutable std::atomic<std::uint64_t> refusals_{0};
  std::atomic<bool> draining_{false};
};

}  // namespace volvox
