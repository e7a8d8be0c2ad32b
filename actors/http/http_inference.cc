#include "actors/http/http_inference.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "actors/edge/edge_settings.h"
#include "actors/edge/request_actor.h"
#include "actors/sessions/session_token.h"
#include "actors/system/insist.h"
#include "actors/system/short_of_memory.h"
#include "actors/work/messages.h"
#include "actors/work/traces.h"
#include "base/clock.h"
#include "base/random_number.h"
#include "monitoring/log/logging.h"
#include "protocol/codec/codec.h"
#include "protocol/codec/packed_body.h"
#include "protocol/v2/response_codec.h"
#include "serving/request_terms.h"

namespace volvox {
namespace {

constexpr Duration kLookForClient = std::chrono::milliseconds(100);  // while its answer is awaited
constexpr Duration kDeadlineGrace =
    std::chrono::seconds(5);  // beyond the deadline, for the answer that says so
constexpr const char* kBinaryHeader = "Inference-Header-Content-Length";
constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max() / 2;

const ClientId kHttpClients = "http";  // all of them, in the table: what tells requests apart is their key

// Memory that one content can take: itself, its tensors, up to thrice while they grow, and the body.
std::size_t cost_of(std::size_t content, const WireLimits& limits) {
  return content + 4 * std::min(limits.max_body_bytes, 4 * content);
}

// What the client can be sure of. A result that cannot be written is none to it, and an error may leave open
// whether the part was done. It may ask for the same again then, but not go on.
Outcome seen_by_client(const Outcome& outcome, const HttpReply& reply) {
  Outcome unsure;
  unsure.error = Error{ErrorCode::kInternal, "nobody knows whether the request has an effect"};
  if (!outcome.error) return reply.error ? unsure : outcome;
  return outcome.undecided ? unsure : outcome;
}

// A request in the table of those that have no answer yet, for as long as this lives.
class Unanswered {
 public:
  Unanswered(InFlightTable& table, std::uint64_t key, const caf::actor& actor) : table_(table), key_(key) {
    table_.add(kHttpClients, key_);
    table_.set(kHttpClients, key_, actor);
  }
  ~Unanswered() {
    forget_actor();
    table_.answered();
  }
  Unanswered(const Unanswered&) = delete;
  Unanswered& operator=(const Unanswered&) = delete;

  void forget_actor() { table_.remove(kHttpClients, key_); }

 private:
  InFlightTable& table_;
  const std::uint64_t key_;
};

Result<std::optional<std::size_t>> binary_header(const HttpExchange& exchange) {
  const auto text = exchange.header(kBinaryHeader);
  if (!text) return std::nullopt;
  std::size_t length = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error == std::errc{} && stop == text->data() + text->size()) return length;
  return invalid(std::string(kBinaryHeader) + " must be the length of the JSON in bytes");
}

}  // namespace

HttpInference::HttpInference(const ServeConfig& config, HttpFrontSetup setup)
    : config_(config),
      limits_(wire_limits(config.wire)),
      setup_(std::move(setup)),
      slots_(std::make_shared<InFlightGauge>(InFlightLimits{config.http.max_requests, kNoBound})),
      memory_(
          std::make_shared<InFlightGauge>(InFlightLimits{kNoBound, std::size_t{config.http.max_mib} << 20})),
      content_key_{random_bits().value_or(0), random_bits().value_or(0)},
      sequences_(sequence_limits(config), setup_.monitor.http()) {}

void HttpInference::serve(HttpExchange& exchange, const V2Route& route) {
  auto slot = InFlightGauge::enter(slots_, 0);
  if (!slot) {
    return refuse(exchange, overloaded("as many requests are in progress as http.max_requests allows; wait "
                                       "and try again"));
  }
  show_progress();
  const auto asked = accept(exchange, route);
  if (!asked) {
    refuse(exchange, asked.error());
  } else {
    run(exchange, *asked);
  }
  slot.reset();
  show_progress();
}

void HttpInference::show_progress() const {
  setup_.monitor.http().set_in_progress(slots_->requests(), memory_->bytes());
}

HttpReply HttpInference::overloaded(const char* message) const {
  return http_error({ErrorCode::kOverloaded, message},
                    setup_.admission->spread(setup_.admission->retry_after_us()));
}

void HttpInference::refuse(HttpExchange& exchange, const HttpReply& reply) {
  setup_.monitor.requests().answered({reply.error.value_or(ErrorCode::kInternal)});
  setup_.monitor.http().answered(reply.status);
  exchange.write(reply);
}

tl::expected<HttpInference::Asked, HttpReply> HttpInference::accept(HttpExchange& exchange,
                                                                    const V2Route& route) {
  const std::size_t most = std::size_t{config_.http.max_content_mib} << 20;
  const auto encoding = exchange.header("Content-Encoding");
  if (encoding && *encoding != "identity") {
    return tl::unexpected(
        http_error(415, {ErrorCode::kInvalidArgument, "contents are not decompressed; send it plain"}));
  }
  std::vector<InFlightShare> shares;
  std::size_t held = 0;
  const auto set_aside = [&](std::size_t bytes) -> std::optional<HttpReply> {
    const std::size_t cost = cost_of(bytes, limits_);
    shares.push_back(InFlightGauge::enter(memory_, cost - held));
    if (!shares.back()) {
      return overloaded("the contents in progress fill the memory that http.max_mib gives them; try again");
    }
    held = cost;
    show_progress();
    return std::nullopt;
  };
  auto content = exchange.read_content(most, set_aside);
  if (!content) return tl::unexpected(std::move(content).error());
  return decode(*content, exchange, route);
}

tl::expected<HttpInference::Asked, HttpReply> HttpInference::decode(const std::string& content,
                                                                    HttpExchange& exchange,
                                                                    const V2Route& route) {
  auto model = setup_.models->find(route.model, route.version);
  if (!model) return tl::unexpected(http_error(model.error()));
  const auto json_bytes = binary_header(exchange);
  if (!json_bytes) return tl::unexpected(http_error(json_bytes.error()));
  auto request = decode_v2_request(std::as_bytes(std::span(content)), *json_bytes, limits_);
  if (!request) return tl::unexpected(http_error(request.error()));
  return admit(std::move(*request), exchange, route, std::move(*model));
}

tl::unexpected<HttpReply> HttpInference::client_gone() {
  setup_.monitor.http().client_gone();
  return tl::unexpected(http_error({ErrorCode::kCancelled, "the client is gone"}));
}

tl::expected<HttpInference::Asked, HttpReply> HttpInference::admit(V2Request request, HttpExchange& exchange,
                                                                   const V2Route& route, HttpModel named) {
  auto body = keep(request.body, named.installed != nullptr);
  if (!body) return tl::unexpected(http_error(body.error()));
  // One that was given up long ago would begin a sequence that nobody goes on with, perhaps after its own
  // end.
  if (request.sequence.start && exchange.client_gone()) return client_gone();
  auto place = stand_in_line(request, route, exchange.client(), named.version);
  if (!place) return tl::unexpected(std::move(place).error());
  auto model = choose_model(std::move(named), place->get());
  if (!model) return tl::unexpected(std::move(model).error());
  RequestHeader& header = request.header;
  if (const auto said = exchange.header("traceparent")) {
    if (const auto context = parse_traceparent(*said)) set_trace_context(header, *context);
  }
  // Of the session's token, only what the door looks at; the rest is known when it is its turn.
  if (*place) header.session.emplace().operation = (*place)->operation();
  header.model = model->name;
  // Which version it is that nobody has asked for, another process may have to say anew.
  header.model_version = model->installed || *place ? model->version : route.version;
  const std::uint64_t longest = std::uint64_t{config_.http.max_wait_ms} * 1000;
  header.deadline_us = terms_of(config_.model, header.model, {header.deadline_us}).deadline_us;
  header.deadline_us = header.deadline_us == 0 ? longest : std::min(header.deadline_us, longest);
  auto admitted = setup_.admission->admit({exchange.client(), {}, false, 0, Door::kHttp}, std::move(header),
                                          std::move(*body), model->installed);
  if (!admitted) {
    return tl::unexpected(
        http_error(admitted.error().error, setup_.admission->spread(admitted.error().retry_after_us)));
  }
  (*admitted)->header.request_id = (*admitted)->key;
  return Asked{std::move(*model), std::move(*admitted), std::move(request.wishes), std::move(request.id),
               std::move(*place)};
}

tl::expected<std::unique_ptr<SequencePlace>, HttpReply> HttpInference::stand_in_line(
    const V2Request& request, const V2Route& route, const std::string& client, std::uint32_t present) {
  if (request.sequence.id.empty()) return nullptr;
  const std::uint32_t version = request.sequence.start ? present : route.version;
  const std::uint64_t content = digest_of(request.body, content_key_).lo;
  return sequences_.enter({route.model, version, request.sequence, request.id, content, client},
                          steady_now());
}

// One that goes to another process is encoded by this thread: the one that sends it has others to send.
Result<IncomingBody> HttpInference::keep(const RequestBody& body, bool runs_here) const {
  if (runs_here) {
    return pack_request_body(body, limits_).map([](RequestBody packed) {
      return IncomingBody(std::move(packed));
    });
  }
  return encode_request_body(body, limits_).map([](WireBuffer encoded) {
    return IncomingBody(std::move(encoded));
  });
}

// The one that was asked for, but a sequence stays with the version that it began with.
tl::expected<HttpModel, HttpReply> HttpInference::choose_model(HttpModel named, SequencePlace* place) const {
  if (place == nullptr || place->version() == named.version) return named;
  auto model = setup_.models->find(named.name, place->version());
  if (model) return std::move(*model);
  Outcome lost;
  lost.error = Error{ErrorCode::kSessionLost,
                     "the version of the model that the sequence began with is gone; begin it anew"};
  place->ended(lost);
  return tl::unexpected(http_error(*lost.error));
}

SequencePlace::Turn HttpInference::wait_for_turn(HttpExchange& exchange, const Asked& asked) {
  const auto give_up = [](ErrorCode code, const char* message) {
    return tl::unexpected(http_error({code, message}));
  };
  for (;;) {
    const Duration left = asked.request->deadline() - steady_now();
    if (left <= Duration::zero()) return give_up(ErrorCode::kDeadlineExceeded, kTooLate);
    if (auto turn = asked.place->wait_for(std::min(left, kLookForClient))) return std::move(*turn);
    if (aborting_)
      return give_up(ErrorCode::kUnavailable, "the server shuts down; begin the sequence elsewhere");
    if (exchange.client_gone()) return client_gone();
  }
}

void HttpInference::run(HttpExchange& exchange, const Asked& asked) {
  if (asked.place) {
    auto turn = wait_for_turn(exchange, asked);
    if (!turn) return refuse(exchange, turn.error());
    asked.request->header.session = std::move(*turn);
  }
  const auto waiter = std::make_shared<ReplyWaiter>();
  const caf::actor actor = spawn_request_actor(setup_.system, waiter, setup_.runner->get(), asked.request,
                                               setup_.admission->dispatcher());
  try {
    await_and_answer(exchange, asked, *waiter, actor);
  } catch (const std::exception&) {
    // What was handed on may have been done: of a sequence nobody knows where it stands.
    if (asked.place) asked.place->ended(lost_outcome(*asked.request));
    throw;
  }
}

void HttpInference::await_and_answer(HttpExchange& exchange, const Asked& asked, ReplyWaiter& waiter,
                                     const caf::actor& actor) {
  Unanswered entry(in_flight_, asked.request->key, actor);
  Outcome outcome = wait(exchange, asked, waiter, actor);
  entry.forget_actor();
  Answer answer = answer_to(asked, outcome);
  if (asked.request->trace) {
    answer.reply.headers += "traceparent: " + to_traceparent(asked.request->trace->child_context()) + "\r\n";
  }
  if (asked.place) asked.place->ended(seen_by_client(outcome, answer.reply));
  setup_.monitor.requests().answered({answer.reply.error, outcome.queue_us, outcome.compute_us,
                                      microseconds(steady_now() - asked.request->arrival)});
  setup_.monitor.http().answered(answer.reply.status);
  outcome = {};  // what it keeps is others' while the client reads
  exchange.write(answer.reply);
}

Outcome HttpInference::wait(HttpExchange& exchange, const Asked& asked, ReplyWaiter& waiter,
                            const caf::actor& actor) {
  const TimePoint until = steady_now() + std::chrono::milliseconds(config_.http.max_wait_ms) + kDeadlineGrace;
  bool gone = false;
  while (steady_now() < until) {
    if (auto outcome = waiter.wait_for(kLookForClient)) return std::move(*outcome);
    // Also one that was let in while the others were told.
    if (aborting_) caf::anon_send(actor, AbortAtom::value);
    if (gone || !exchange.client_gone()) continue;
    gone = true;
    setup_.monitor.http().client_gone();
    caf::anon_send(actor, CancelAtom::value);
  }
  log_about(subject_of(*asked.request), LogLevel::kError, "a request over HTTP was never answered");
  return lost_outcome(*asked.request);
}

HttpInference::Answer HttpInference::answer_to(const Asked& asked, const Outcome& outcome) const {
  // A part of a sequence whose result cannot be given has been done.
  const auto failed = [&](HttpReply reply) -> Answer {
    if (outcome.undecided || outcome.session) reply.headers += "Volvox-Undecided: true\r\n";
    return {std::move(reply), {}};
  };
  if (outcome.error)
    return failed(http_error(*outcome.error, setup_.admission->spread(outcome.retry_after_us)));
  V2Answer answer;
  answer.model = asked.model.name;
  answer.version = outcome.model_version != 0 ? outcome.model_version : asked.model.version;
  answer.id = asked.id;
  answer.outputs = outcome.outputs;
  answer.cells = outcome.cells;
  answer.timings = {outcome.queue_us, outcome.compute_us,
                    microseconds(steady_now() - asked.request->arrival)};
  auto share = InFlightGauge::enter(memory_, v2_answer_bound(answer, asked.wishes));
  if (!share) {
    return failed(
        overloaded("the contents in progress fill the memory that http.max_mib gives them; ask for "
                   "binary_data, or try again"));
  }
  auto content = unless_short_of_memory("the server has no memory for the result; try again later",
                                        [&] { return encode_v2_answer(answer, asked.wishes); });
  if (!content) return failed(http_error(content.error()));
  HttpReply reply;
  reply.content = std::move(content->bytes);
  if (content->binary) {
    reply.content_type = "application/octet-stream";
    reply.headers = std::string(kBinaryHeader) + ": " + std::to_string(content->json_bytes) + "\r\n";
  }
  return {std::move(reply), std::move(share)};
}

void HttpInference::abort_requests() {
  aborting_ = true;
  for (const caf::actor& request : in_flight_.all()) caf::anon_send(request, AbortAtom::value);
}

}  // namespace volvox
