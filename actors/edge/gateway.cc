#include "actors/edge/gateway.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "actors/edge/edge_settings.h"
#include "actors/edge/parts_actor.h"
#include "actors/edge/reply_headers.h"
#include "actors/edge/request_actor.h"
#include "actors/sessions/session_token.h"
#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/system/short_of_memory.h"
#include "actors/work/messages.h"
#include "actors/work/traces.h"
#include "base/clock.h"
#include "monitoring/log/logging.h"
#include "protocol/codec/codec.h"

namespace volvox {
namespace {

constexpr Duration kLookAround = std::chrono::milliseconds(500);  // an idle gateway wakes this often
constexpr Duration kLookWhileStopping = std::chrono::milliseconds(20);
constexpr Duration kLookForSilence = std::chrono::milliseconds(100);

constexpr const char* kNoRoomForResults =
    "the results on their way exceed limits.max_result_mib_in_flight; ask again later";

constexpr const char* kIdInFlight = "a request with this id is in flight on the connection; number on";

// Parts that go on together: so many take the time in which a thread is woken, and the first waits for them.
constexpr std::size_t kMostGathered = 32;

DoorCounts counts_of(const EdgeDoor& door) {
  DoorCounts counts;
  counts.connections = door.connections;
  counts.receiving_bytes = door.unfinished_bytes + door.unread_bytes;
  counts.refused_full = door.refused_full;
  counts.refused_address = door.refused_address;
  counts.refused_key = door.refused_key;
  counts.accept_failures = door.accept_failures;
  counts.closed_unfinished = door.closed_unfinished;
  counts.closed_oversized = door.closed_oversized;
  counts.closed_idle = door.closed_idle;
  return counts;
}

// So many ids, from the message's own on.
std::uint32_t parts_of(const RequestHeader& header) {
  return std::max(header.parts, 1U);
}

// Parts that came together have one actor.
std::vector<caf::actor> each_once(std::vector<caf::actor> actors) {
  std::sort(actors.begin(), actors.end());
  actors.erase(std::unique(actors.begin(), actors.end()), actors.end());
  return actors;
}

// Small ones in their order, of which none has a time that an actor of its own would have to watch.
bool may_go_with_others(const IncomingRequest& request) {
  return is_session_part(request.header) && !request.detour && request.header.deadline_us == 0 &&
         request.body.size() <= Dispatcher::kSmallBody;
}

}  // namespace

Gateway::Gateway(const ServeConfig& config, caf::actor_system& system, std::shared_ptr<ActorSlot> runner,
                 std::shared_ptr<Admission> admission, RequestMetrics& metrics)
    : config_(config),
      limits_(wire_limits(config.wire)),
      system_(system),
      runner_(std::move(runner)),
      admission_(std::move(admission)),
      metrics_(metrics),
      signals_(signal_limits(config.limits)),
      line_(admission_->runs_models() ? parts_at_once(config) : 0) {}

Result<std::shared_ptr<Gateway>> Gateway::open(const ServeConfig& config, caf::actor_system& system,
                                               std::shared_ptr<ActorSlot> runner,
                                               std::shared_ptr<Admission> admission,
                                               RequestMetrics& metrics) {
  std::shared_ptr<Gateway> gateway(
      new Gateway(config, system, std::move(runner), std::move(admission), metrics));
  EdgeOptions options = edge_options(config);
  auto keys = edge_keys(config.security);
  if (!keys) return tl::unexpected(keys.error());
  options.keys = std::move(*keys);
  auto edge = EdgeSocket::open(options, *gateway);
  if (!edge) return tl::unexpected(edge.error());
  gateway->edge_ = std::move(*edge);
  if (const Status bound = gateway->edge_->bind(config.server.listen); !bound)
    return tl::unexpected(bound.error());
  return gateway;
}

Gateway::~Gateway() {
  stop(Duration::zero());
}

void Gateway::start() {
  thread_ = std::thread([this] { run(); });
}

void Gateway::abort_requests() {
  aborting_ = true;
  edge_->wake();
}

void Gateway::stop(Duration patience) {
  if (!thread_.joinable()) return;
  stop_until_ = later(steady_now(), patience);
  stopping_ = true;
  edge_->wake();
  thread_.join();
}

// A client that reads a little now and then would keep its replies here for ever.
void Gateway::run() {
  while (!stopping_ || (edge_->unsent() > 0 && steady_now() < stop_until_)) {
    edge_->run_once(stopping_ ? kLookWhileStopping : kLookAround);
    take_turns();
    look_around();
  }
  if (edge_->unsent() == 0) return;
  metrics_.replies_dropped(edge_->unsent());
  spdlog::warn("{} replies were not read before the server stopped", edge_->unsent());
}

void Gateway::look_around() {
  metrics_.set_in_flight(admission_->gauge().requests(), admission_->gauge().bytes());
  const EdgeStats stats = edge_->stats();
  const std::uint64_t dropped = stats.dropped_slow + stats.dropped_unreachable + stats.refused_full;
  if (dropped != dropped_) metrics_.replies_dropped(dropped - std::exchange(dropped_, dropped));
  for (; malformed_ < stats.malformed; ++malformed_) metrics_.answered({ErrorCode::kInvalidArgument});
  if (const std::uint64_t refused = stats.refused_clients - clients_refused_; refused != 0) {
    clients_refused_ = stats.refused_clients;
    metrics_.clients_refused(refused);
    refusals_.add(refused);
  }
  const TimePoint now = steady_now();
  if (const std::uint64_t due = refusals_.due(now); due != 0) {
    const std::string last = last_refused_.empty() ? std::string() : "; the last one: " + last_refused_;
    spdlog::warn("connections that were not let in: {}{}", due, last);
  }
  if (now - looked_ >= kLookForSilence) look_for_silence(now);
  if (aborting_.exchange(false)) {
    go_on_all();
    for (const caf::actor& request : each_once(in_flight_.all())) caf::anon_send(request, AbortAtom::value);
  }
}

// Also tells how much waits, which need not be exact to the millisecond.
void Gateway::look_for_silence(TimePoint now) {
  const TimePoint before = std::exchange(looked_, now);
  metrics_.set_edge({admission_->clients(), edge_->waiting_replies(), edge_->waiting_bytes(),
                     std::chrono::duration<double>(admission_->backlog()).count(), line_.units()});
  metrics_.set_door(counts_of(edge_->door()));
  const Duration patience = std::chrono::milliseconds(config_.limits.silent_client_ms);
  if (patience == Duration::zero()) return;
  // Whoever could not listen itself cannot say who was silent.
  if (now - before > std::max(patience / 2, 2 * kLookAround)) return in_flight_.hear_all(now);
  for (const ClientId& client : in_flight_.silent(now - patience)) lose(client, LostClient::kSilent);
}

void Gateway::on_request(const ClientId& client, std::span<const std::byte> header,
                         std::span<const std::byte> body) {
  LogSubject about;
  try {
    take(client, header, body, about);
  } catch (const std::exception& error) {  // out of memory, out of threads: this request's problem only
    refuse_untaken(client, about, error);
  }
}

void Gateway::refuse_untaken(const ClientId& client, const LogSubject& about, const std::exception& why) {
  insist([&] {
    refuse(client, about.request,
           {{ErrorCode::kInternal, "the server could not take the request; see its log"}});
  });
  insist([&] {
    log_about(about, LogLevel::kError, std::string("the gateway could not take a request: ") + why.what());
  });
}

void Gateway::take(const ClientId& client, std::span<const std::byte> header_bytes,
                   std::span<const std::byte> body, LogSubject& about) {
  // Ids are drawn at random, and given once: this is for the day on which that no longer holds.
  const TimePoint now = steady_now();
  if (!in_flight_.hear(client, now, edge_->sender_name())) lose(client, LostClient::kUnreachable);
  auto header = decode_request_header(header_bytes, limits_, &about.request);
  if (!header) return refuse(client, about.request, {std::move(header).error()});
  const bool asks = header->kind == RequestKind::kInfer || header->kind == RequestKind::kBundle;
  if (!asks && !signals_.take(client, now)) return metrics_.signal_ignored();
  switch (header->kind) {
    case RequestKind::kPing:
      return pong(client, *header);
    case RequestKind::kCancel:
      return cancel(client, *header);
    case RequestKind::kInfer:
    case RequestKind::kBundle:
      break;
  }
  about.trace = trace_context(*header).trace;
  Message message{{client, std::string(edge_->sender_name())}, std::move(*header)};
  message.caller.since = now;
  if (must_wait(message, body.size())) return wait(std::move(message), body);
  accept_any(std::move(message), OfferedBody(body, [this] { return edge_->keep_body(); }));
}

// Parts of sessions have an order, and a client's keep it. Only bundles begin to wait, and none that will be
// refused: nobody is to hold places with parts that are not there.
bool Gateway::must_wait(const Message& message, std::size_t body_bytes) {
  const ClientId& client = message.caller.connection;
  const RequestHeader& header = message.header;
  const bool bundle = header.kind == RequestKind::kBundle;
  if (!bundle && !(line_.waits(client) && is_session_part(header))) return false;
  const bool makes_sense = header.parts <= limits_.max_bundle_parts && header.parts <= body_bytes;
  if (!makes_sense || !admission_->lets_in() || !admission_->may_wait(message.caller, header)) {
    go_on_all_of(client);
    return false;
  }
  return !bundle || !line_.may_go(client, in_flight_.bundled(), in_flight_.bundled_of(client));
}

void Gateway::wait(Message message, std::span<const std::byte> body) {
  const ClientId client = message.caller.connection;
  const std::size_t units = parts_of(message.header);
  auto shares = admission_->enter(message.caller, {units, body.size()});
  if (!shares) {
    if (message.header.kind == RequestKind::kBundle) metrics_.bundle_refused();
    return refuse(client, message.header.request_id, std::move(shares).error());
  }
  in_flight_.expect(client, units, message.caller.since, message.caller.account);
  try {
    line_.wait(client, units, {std::move(message), edge_->keep_body(), std::move(*shares)});
  } catch (...) {
    in_flight_.met(client, units);
    throw;
  }
}

// All at once if they will be refused: whoever is told at once can go elsewhere.
void Gateway::take_turns() {
  if (line_.units() == 0 && !line_was_there_) return;
  if (!admission_->lets_in()) go_on_all();
  const auto under_way = [this](const ClientId& client) { return in_flight_.bundled_of(client); };
  while (auto waiting = line_.next(in_flight_.bundled(), under_way)) go_on(std::move(*waiting));
  hand_on_gathered();
  admission_->set_waiting(line_.units(), in_flight_.bundled());
  line_was_there_ = line_.units() != 0;
}

void Gateway::go_on_all() {
  while (auto waiting = line_.next_of_any()) go_on(std::move(*waiting));
  hand_on_gathered();
}

void Gateway::go_on_all_of(const ClientId& client) {
  while (auto waiting = line_.next_of(client)) go_on(std::move(*waiting));
}

// Admission counts its parts one by one.
void Gateway::go_on(Waiting waiting) {
  waiting.shares = {};
  const std::size_t units = parts_of(waiting.message.header);
  const ClientId client = insist([&] { return waiting.message.caller.connection; });
  const LogSubject about{waiting.message.header.request_id, trace_context(waiting.message.header).trace};
  try {
    const auto& body = waiting.body;
    accept_any(std::move(waiting.message), OfferedBody(body->bytes(), [&body] { return body; }));
  } catch (const std::exception& error) {  // as in on_request()
    refuse_untaken(client, about, error);
  }
  in_flight_.met(client, units);
}

void Gateway::accept_any(Message message, OfferedBody body) {
  if (message.header.kind == RequestKind::kInfer) return accept(std::move(message), std::move(body));
  hand_on_gathered();  // it may be about them
  accept_bundle(std::move(message), std::move(body));
}

void Gateway::accept(Message message, OfferedBody body) {
  const ClientId client = message.caller.connection;
  const std::uint64_t id = message.header.request_id;
  const std::size_t size = body.size();
  auto admitted = admission_->admit(std::move(message.caller), std::move(message.header), std::move(body));
  if (!admitted) return refuse(client, id, std::move(admitted).error());
  const std::string account = (*admitted)->account;
  if (!in_flight_.add(client, id, (*admitted)->arrival, account)) {
    return refuse(client, id, {{ErrorCode::kInvalidArgument, kIdInFlight}});
  }
  try {
    const caf::actor runner = admission_->runner_for(**admitted, *runner_);
    if (may_go_with_others(**admitted)) {
      gathered_.push_back(std::move(*admitted));
      if (gathered_.size() == kMostGathered) hand_on_gathered();
      return;
    }
    hand_on_gathered();
    in_flight_.set(client, id,
                   spawn_request_actor(system_, shared_from_this(), runner, *admitted,
                                       admission_->dispatcher_for(size)));
  } catch (...) {
    if (!in_flight_.remove(client, id, account)) return;  // it was answered before this failed
    in_flight_.answered();
    throw;
  }
}

// Threads are woken, and messages sent, for all that have come since they were last looked for, not for each.
void Gateway::hand_on_gathered() {
  if (gathered_.empty()) return;
  const std::vector<RequestPtr> parts = std::exchange(gathered_, {});
  try {
    const caf::actor actor =
        parts.size() == 1
            ? spawn_request_actor(system_, shared_from_this(), runner_->get(), parts.front())
            : spawn_parts_actor(system_, {shared_from_this(), runner_->get(), parts, std::nullopt});
    for (const RequestPtr& part : parts) in_flight_.set(part->client, part->header.request_id, actor);
  } catch (const std::exception& error) {  // out of memory, out of threads: these requests' problem only
    for (const RequestPtr& part : parts) {
      // Those that were answered before this failed have their answer.
      if (!in_flight_.remove(part->client, part->header.request_id, part->account)) continue;
      in_flight_.answered();
      refuse_untaken(part->client, insist([&] { return subject_of(*part); }), error);
    }
  }
}

void Gateway::accept_bundle(Message message, OfferedBody body) {
  const ClientId client = message.caller.connection;
  const std::string account = message.caller.account;
  const std::uint64_t first = message.header.request_id;
  const TimePoint heard = message.caller.since;
  auto admitted =
      admission_->admit_bundle(std::move(message.caller), std::move(message.header), std::move(body));
  if (!admitted) {
    metrics_.bundle_refused();
    return refuse(client, first, std::move(admitted).error());
  }
  metrics_.bundle_taken(admitted->parts.size() + admitted->refused.size());
  const std::size_t count = admitted->parts.size();
  std::vector<std::uint64_t> ids, taken;
  std::vector<RequestPtr> parts;
  ids.reserve(count);
  taken.reserve(count);
  parts.reserve(count);
  for (const auto& part : admitted->parts) ids.push_back(part->header.request_id);
  const std::vector<bool> added = in_flight_.add_all(client, ids, heard, account);
  for (std::size_t i = 0; i < count; ++i) {
    if (!added[i]) continue;
    taken.push_back(ids[i]);
    parts.push_back(std::move(admitted->parts[i]));
  }
  try {
    for (std::size_t i = 0; i < count; ++i) {
      if (added[i]) continue;
      admitted->refused.push_back(
          {static_cast<std::uint32_t>(ids[i] - first), {{ErrorCode::kInvalidArgument, kIdInFlight}, 0}});
    }
    refuse_parts(client, first, admitted->refused);
    if (!parts.empty()) spawn_bundle(client, first, taken, std::move(parts));
  } catch (...) {
    const std::vector<bool> removed = insist([&] { return in_flight_.remove_all(client, taken, account); });
    const auto left = static_cast<std::size_t>(std::count(removed.begin(), removed.end(), true));
    in_flight_.answered(left);
    if (left == 0 && !taken.empty()) return;  // all were answered before this failed
    throw;
  }
}

void Gateway::spawn_bundle(const ClientId& client, std::uint64_t first_id, std::span<const std::uint64_t> ids,
                           std::vector<RequestPtr> parts) {
  caf::actor runner = admission_->runner_for(parts, *runner_);
  const PartsSetup::Bundle bundle{first_id, std::chrono::microseconds(config_.wire.bundle_gather_us)};
  PartsSetup setup{shared_from_this(), std::move(runner), std::move(parts), bundle};
  in_flight_.set_all(client, ids, spawn_parts_actor(system_, std::move(setup)));
}

void Gateway::refuse_parts(const ClientId& client, std::uint64_t first_id,
                           std::span<const AdmittedBundle::Refused> parts) {
  std::vector<PartReply> replies;
  replies.reserve(parts.size());
  for (const AdmittedBundle::Refused& part : parts) {
    PartReply& reply = replies.emplace_back();
    reply.part = part.part;
    reply.error = &part.why.error;
    reply.retry_after_us = admission_->spread(part.why.retry_after_us);
  }
  send_bundle(client, first_id, replies);
}

void Gateway::cancel(const ClientId& client, const RequestHeader& header) {
  go_on_all_of(client);
  hand_on_gathered();
  const CancelIds ids{std::make_shared<const ClientId>(client), header.request_id, parts_of(header)};
  hand_over();
  for (const caf::actor& request : each_once(in_flight_.find_all(client, ids.first, ids.count)))
    caf::anon_send(request, ids);
}

void Gateway::refuse(const ClientId& client, std::uint64_t id, Refusal why) {
  metrics_.answered({why.error.code});
  ReplyHeader header = error_reply(id, std::move(why.error));
  header.retry_after_us = admission_->spread(why.retry_after_us);
  say(client, header, {});
}

void Gateway::pong(const ClientId& client, const RequestHeader& request) {
  ReplyHeader header;
  header.kind = ReplyKind::kPong;
  header.request_id = request.request_id;
  say(client, header, {});
}

// There was room for the body a moment ago; and a short word finds some always, and memory sooner or later.
void Gateway::say(const ClientId& client, const ReplyHeader& header, WireBuffer&& body) {
  OutgoingReply reply = insist([&] { return outgoing(client, header, std::move(body)); });
  insist([&] { edge_->post_anyway(std::move(reply)); });
}

void Gateway::answer(const IncomingRequest& request, const Outcome& outcome) {
  if (!in_flight_.remove(request.client, request.header.request_id, request.account)) return;
  ReplyHeader header = insist([&] { return reply_header(request, outcome); });
  WireBuffer body;
  if (!outcome.error) {
    auto encoded = insist([&] { return encode_result(outcome); });
    if (encoded) {
      body = std::move(*encoded);
    } else {
      header.kind = ReplyKind::kError;
      header.error = std::move(encoded).error();
      header.undecided = header.session.has_value();
    }
  }
  if (!body.empty() && !edge_->has_room(body.size())) {
    header.kind = ReplyKind::kError;
    insist([&] { header.error = {ErrorCode::kOverloaded, kNoRoomForResults}; });
    header.undecided = header.session.has_value();
    body = {};
  }
  RequestSample sample{std::nullopt, header.timings.queue_us, header.timings.compute_us,
                       header.timings.total_us};
  if (header.kind == ReplyKind::kError) sample.error = header.error.code;
  metrics_.answered(sample);
  say(request.client, header, std::move(body));
  in_flight_.answered();
  if (header.kind == ReplyKind::kError)
    log_about(subject_of(request), LogLevel::kDebug, "a request ended: " + to_string(header.error));
}

void Gateway::answer_parts(std::uint64_t first_id, std::span<const Answered> parts) {
  const IncomingRequest& one = *parts.front().request;
  std::vector<std::uint64_t> ids;
  std::vector<PartReply> replies;
  std::deque<Result<ReplyBody>> content;
  insist([&] {
    ids.clear();
    for (const Answered& part : parts) ids.push_back(part.request->header.request_id);
    replies.reserve(parts.size());
  });
  const std::vector<bool> mine = insist([&] { return in_flight_.remove_all(one.client, ids, one.account); });
  const TimePoint now = steady_now();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!mine[i]) continue;
    const Answered& part = parts[i];
    replies.push_back(insist([&] {
      return part_reply(static_cast<std::uint32_t>(ids[i] - first_id), *part.request, *part.outcome, now,
                        content, limits_);
    }));
  }
  send_bundle(one.client, first_id, replies);
  in_flight_.answered(replies.size());
}

// What finds no room, or cannot be encoded, is replaced by an error, for which there is room always. Errors
// may be longer than the answers whose place they take, and then travel in more messages.
void Gateway::send_bundle(const ClientId& client, std::uint64_t first_id, std::span<PartReply> replies) {
  Error trouble;
  const auto give_up = [&](std::span<PartReply> group) {
    for (PartReply& reply : group) {
      reply.undecided = reply.error != nullptr ? reply.undecided : reply.token != nullptr;
      if (reply.error == nullptr) reply.error = &trouble;
    }
  };
  while (!replies.empty()) {
    std::span<PartReply> group = replies.first(insist([&] { return bundled_replies(replies, limits_); }));
    auto body = unless_short_of_memory("the server has no memory for the results; try again later",
                                       [&] { return encode_reply_bundle(group, limits_); });
    if (!body || !edge_->has_room(body->size())) {
      insist([&] { trouble = body ? Error{ErrorCode::kOverloaded, kNoRoomForResults} : body.error(); });
      give_up(group);
      group = group.first(insist([&] { return bundled_replies(group, limits_); }));
      body = insist([&] { return encode_reply_bundle(group, limits_); });
    }
    insist([&] {
      std::vector<RequestSample> samples;
      samples.reserve(group.size());
      for (const PartReply& reply : group) {
        const auto& times = reply.timings;
        samples.push_back({std::nullopt, times.queue_us, times.compute_us, times.total_us});
        if (reply.error != nullptr) samples.back().error = reply.error->code;
      }
      metrics_.answered(samples);
    });
    if (!body) {
      log_about({first_id}, LogLevel::kError,
                "answers to a bundle could not be encoded: " + to_string(body.error()));
    }
    const ReplyHeader header = insist([&] { return bundle_header(first_id, body.has_value()); });
    say(client, header, body ? std::move(*body) : WireBuffer{});
    replies = replies.subspan(group.size());
  }
}

bool Gateway::partial(const IncomingRequest& request, std::uint32_t index, const Outcome& part) {
  try {
    auto body = encode_result(part);
    if (!body) return false;
    ReplyHeader header = reply_header(request, part);
    header.kind = ReplyKind::kPartial;
    header.final = false;
    header.index = index;
    if (!edge_->post(outgoing(request.client, header, std::move(*body)))) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  metrics_.partial_sent();
  return true;
}

// What another process has encoded goes on as it is.
Result<WireBuffer> Gateway::encode_result(const Outcome& outcome) const {
  return unless_short_of_memory("the server has no memory for the result; try again later",
                                [&]() -> Result<WireBuffer> {
                                  if (outcome.encoded)
                                    return WireBuffer::part_of(outcome.encoded, outcome.encoded->bytes());
                                  return encode_reply_body(outcome.outputs, limits_);
                                });
}

// Whoever asked is told something, even if what was to be said does not fit a header. The body is taken last,
// so that it is still there when memory is short.
OutgoingReply Gateway::outgoing(const ClientId& client, const ReplyHeader& reply, WireBuffer&& body) const {
  ReplyHeader named = reply;
  named.server = config_.server.name;
  auto header = encode_reply_header(named, limits_);
  if (header) return {client, std::move(*header), std::move(body)};
  log_about({reply.request_id}, LogLevel::kError,
            "the reply to a request could not be encoded: " + to_string(header.error()));
  ReplyHeader failed =
      error_reply(reply.request_id, {ErrorCode::kInternal, "the answer could not be encoded; see the log"});
  // A part of a session is done, whatever becomes of its answer.
  failed.undecided = reply.undecided || reply.session.has_value();
  header = encode_reply_header(failed, limits_);
  return {client, header ? std::move(*header) : WireBuffer{}, {}};
}

void Gateway::on_client_refused(const RefusedClient& client) {
  last_refused_ = (client.address.empty() ? std::string("a client") : client.address) + ": " + client.reason;
}

void Gateway::on_keys_trouble(const std::string& why) {
  metrics_.set_keys_unreadable(!why.empty());
  if (why.empty()) return spdlog::info("the clients' keys can be read again");
  spdlog::error(
      "the folder of client keys cannot be read: {}; clients known before are let in for {} ms more", why,
      config_.security.stale_keys_ms);
}

void Gateway::on_client_gone(const ClientId& client, ClientGone why) {
  lose(client, why == ClientGone::kTooSlow ? LostClient::kSlow : LostClient::kUnreachable);
}

// One that says nothing may only have slept: its requests are answered.
void Gateway::lose(const ClientId& client, LostClient why) {
  spdlog::debug("a client is gone: {}", to_string(why));
  go_on_all_of(client);
  hand_on_gathered();
  const bool silent = why == LostClient::kSilent;
  std::vector<caf::actor> requests =
      insist([&] { return silent ? in_flight_.give_up(client) : in_flight_.take_client(client); });
  if (!requests.empty()) metrics_.lost(why);
  for (std::size_t i = 0; i < requests.size() && !silent; ++i) metrics_.answered({ErrorCode::kCancelled});
  const ClientLost lost{insist([&] { return std::make_shared<const ClientId>(client); }), silent};
  hand_over();
  for (const caf::actor& request : each_once(std::move(requests)))
    insist([&] { caf::anon_send(request, lost); });
}

}  // namespace volvox
