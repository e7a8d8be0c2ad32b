#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <caf/actor.hpp>

#include "actors/edge/client_shares.h"
#include "actors/edge/detours.h"
#include "actors/edge/in_flight.h"
#include "actors/node/catalog.h"
#include "actors/sessions/session_part.h"
#include "actors/system/actor_slot.h"
#include "actors/work/answer_promise.h"
#include "actors/work/device_loads.h"
#include "actors/work/incoming_body.h"
#include "actors/work/request_end.h"
#include "actors/work/workload.h"
#include "base/door.h"
#include "base/error.h"
#include "base/fixed_vector.h"
#include "base/keyed_hash.h"
#include "base/structure.h"
#include "base/time.h"
#include "batching/request.h"
#include "device/device.h"
#include "install/installation.h"
#include "protocol/messages.h"
#include "protocol/sockets/edge_socket.h"
#include "tracing/live_span.h"

namespace volvox {

std::uint64_t microseconds(Duration span);  // 0 for a negative one

PriorityClass priority_class(WirePriority priority);
// From its arrival to its deadline; a year is for ever.
Duration time_given(const RequestHeader& header);

// One request as it came in at the edge. Immutable; shared by the actors that work on it.
struct IncomingRequest {
  std::uint64_t key = 0;  // unique within the process: a client's own number is not
  ClientId client;
  std::string account;  // the name of the client's key; empty: nobody had to have one
  // Stands for the client's connection in every process; 0: it has none, or nobody has told.
  std::uint64_t connection = 0;
  // Request::client: stands for whoever has one key, in this process; without keys, for a connection. 0:
  // nobody is known.
  std::uint64_t client_number = 0;
  Door door = Door::kClients;  // by which it came in
  RequestHeader header;
  IncomingBody body;
  TimePoint arrival{};
  mutable InFlightShare share;       // of the bounds on what is in flight
  mutable ClientShare client_share;  // of those on what its client has in flight
  ModelPtr model;                    // that the door has chosen already; null: the header says which
  // In the estimate of what is accepted; none: it is not in it. It guards itself.
  mutable std::optional<WorkPlace> place;
  mutable Detour detour;  // of a part of a session, or the first one of a bundle; empty: it takes none
  // Whoever writes large answers, so that others need not wait meanwhile; null: nobody does.
  std::shared_ptr<const ActorSlot> writer;
  std::shared_ptr<LiveSpan> trace;  // null: it is not traced
  mutable RequestEnd end;

  // Gives back its shares, when nothing of it runs any more: before its answer, so that whoever has the
  // answer finds room for what comes next. Called by one thread, at most once.
  void leave() const {
    share.reset();
    client_share.reset();
  }
  TimePoint deadline() const;  // TimePoint::max(): none
};
using RequestPtr = std::shared_ptr<const IncomingRequest>;

inline constexpr const char* kNoRunner =
    "what runs requests here has failed and is being started again; try again soon, or elsewhere";
inline constexpr const char* kCancelledByClient = "the client cancelled the request";
inline constexpr const char* kSaidNothing =
    "nothing was heard of the client for as long as limits.silent_client_ms, so the request was cancelled; "
    "send a ping now and then while requests are in flight";
inline constexpr const char* kTooLate = "the deadline passed; allow more time or send less at once";

// How a request ended, on its way back to the request actor.
struct Outcome {
  std::optional<Error> error;
  std::uint64_t retry_after_us = 0;
  bool undecided = false;               // an error of a session's part, which may have been done all the same
  std::span<const WireTensor> outputs;  // in what `owner` keeps, as what they are views of
  std::shared_ptr<const void> owner;
  std::shared_ptr<const WireBuffer>
      encoded;  // the outputs as they came from another process; null: of this one
  std::optional<WireSessionToken> session;
  std::uint32_t cells = 0;
  std::uint32_t model_version = 0;  // that answered; 0: nobody did, or nobody says
  std::uint64_t queue_us = 0, compute_us = 0;

  // Of the outputs, as far as they must be encoded.
  std::size_t bytes_to_encode() const;
};
using OutcomePtr = std::shared_ptr<const Outcome>;

// Of a request that somebody lost who had it: INTERNAL, and nobody knows whether a part of a session was
// done.
Outcome lost_outcome(const IncomingRequest& request);

// Notes in the request's trace, if it has one, that it was answered so.
void trace_answer(const IncomingRequest& request, const Outcome& outcome);

// Bounds the bytes that many requests hold together. Any thread.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes) : left_(static_cast<std::int64_t>(bytes)) {}

  // Takes `bytes` if they are left.
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { left_.fetch_add(static_cast<std::int64_t>(bytes)); }

 private:
  std::atomic<std::int64_t> left_;
};

// How far the rows of a streamed answer are made and sent.
struct StreamProgress {
  std::vector<std::uint32_t> steps;  // by lane: done; empty where no answer is streamed
  std::uint32_t sent = 0;            // rows sent, or not wanted
};

// A body that its model can run, and what of it.
struct CheckedJob {
  ModelPtr model;
  Lengths lengths{};                          // by sequence; where one stops by itself, at most
  Structure structure;                        // its arrays are in the body
  std::size_t unfolded_bytes = 0;             // that it takes, unfolded
  std::shared_ptr<const WireBuffer> content;  // that the inputs lie in: the body, or what was made of it
  std::array<std::uint64_t, kMaxInputs> input_offsets{};  // in the content, by the model's own input number
  FixedVector<std::size_t, kMaxOutputs> wanted;  // numbers of the model's outputs, in the order of the reply
};

// What a part of a session says, read for this model.
struct ReadPart {
  ModelPtr model;      // null: there was none
  Status status;       // whether it can run
  bool empty = false;  // it only ends its session
  Digest content;      // of what can run
};

// The same as a device runs it.
struct UnfoldedJob {
  std::unique_ptr<InputPages> pages;
  ResultBlock results;
  Request request;  // until the scheduler has taken it
};

// What became of it there.
struct JobEnd {
  std::optional<Error> error;
  std::uint64_t retry_after_us = 0;
  bool device_failed = false;  // under it: another device may do better
  TimePoint first_submit{}, done{};
  Lengths lengths{};                               // of CheckedJob::lengths, what was run
  std::vector<std::vector<std::int32_t>> paths{};  // of outputs that are one, as they are answered
  std::vector<WireTensor> outputs{};               // of Outcome::outputs, where they stay
};

// A request that the actors pass on: router → manager → scheduler → manager. Whoever holds it may fail, or
// may lose it with its mailbox; so it is a promise: destroyed without having been settled, it tells the
// request actor INTERNAL, or, where it runs on one of several devices, comes back to run once more on
// another. No table of pending requests is needed for that, and no failure can leave one unanswered. Passed
// by shared_ptr; one actor at a time works on it. What a device may still read or write (pages, results)
// lives as long as it does, so the scheduler keeps it until no task refers to it.
class Work {
 public:
  // `reply_to` may be invalid: then nobody is told.
  Work(RequestPtr request, caf::actor reply_to) : promise_(std::move(request), std::move(reply_to)) {}
  // A part of a bundle, which is answered with the others.
  Work(RequestPtr request, AnswerGroupPtr group, std::uint32_t place)
      : promise_(std::move(request), std::move(group), place) {}
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  const IncomingRequest& request() const { return *promise_.request(); }
  const RequestPtr& shared_request() const { return promise_.request(); }
  // Sends the outcome to the request actor. The first call counts.
  void settle(Outcome&& outcome) { promise_.keep(std::move(outcome)); }
  void settle(Error error, std::uint64_t retry_after_us = 0) {
    promise_.keep(std::move(error), retry_after_us);
  }
  // Sends the request actor a part of the answer. Parts are numbered by the caller, ascending.
  void send_partial(std::uint32_t index, Outcome part) { promise_.keep_partly(index, std::move(part)); }
  bool settled() const { return promise_.kept(); }
  // For whoever answers in this one's place, which counts as settled.
  AnswerPromise pass_on_answer() { return promise_.pass_on(); }
  // A work for the same request, which answers in this one's place; for its second and last try. No task may
  // refer to this one any more: its memory is given back.
  std::shared_ptr<Work> successor();
  // Whether nothing of the answer has been sent, and this is the first try.
  bool can_run_again() const;
  // Counts these bytes against the budget until the end. False: they are not left.
  bool reserve(std::shared_ptr<ByteBudget> budget, std::uint64_t bytes);
  // The end of them, and of what was made for a device: nothing of it runs there, or will.
  void give_back_memory();

  // The stages that it passes, each made as a whole. A scheduler is only given what is unfolded, and the
  // manager gets back only what has an end.
  std::optional<const ReadPart> read;  // of a part of a session that was read ahead of its turn
  std::optional<const CheckedJob> checked;
  std::optional<UnfoldedJob> unfolded;
  std::optional<JobEnd> end;

  std::optional<DevicePlace> device_place;  // where it runs, until it has ended there
  caf::actor again;  // the manager, to whom a work that is lost with its device comes back; invalid: nobody
  StreamProgress stream;
  std::optional<SessionPart> part;  // of a session; the work then answers nobody: its driver does

 private:
  AnswerPromise promise_;
  std::shared_ptr<ByteBudget> budget_;
  std::uint64_t reserved_bytes_ = 0;
  bool second_ = false;
};
using WorkPtr = std::shared_ptr<Work>;

}  // namespace volvox
