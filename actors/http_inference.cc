#include "actors/http_inference.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/gateway.h"
#include "actors/handoff.h"
#include "actors/messages.h"
#include "actors/request_actor.h"
#include "protocol/codec.h"
#include "protocol/v2/response_codec.h"

namespace volvox {
namespace {

constexpr Duration kLookForClient = std::chrono::milliseconds(100);  // while its answer is awaited
constexpr Duration kGrace = std::chrono::seconds(5);  // beyond the deadline, for the answer that says so
constexpr const char* kBinaryHeader = "Inference-Header-Content-Length";
constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max() / 2;

const ClientId kHttpClients = "http";  // all of them, in the table: what tells requests apart is their key

// Memory that one content can take: itself, its tensors while they grow, and the body made of them twice.
std::size_t cost_of(std::size_t content, const WireLimits& limits) {
  return content + 4 * std::min(limits.max_body_bytes, 4 * content);
}

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
          std::make_shared<InFlightGauge>(InFlightLimits{kNoBound, std::size_t{config.http.max_mib} << 20})) {
}

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
  return http_error({ErrorCode::kOverloaded, message}, setup_.admission->retry_after_us());
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
  // Before a byte of it is read: what is refused costs nothing.
  const std::size_t declared = std::min(most, exchange.content_length().value_or(most));
  const auto share = InFlightGauge::enter(memory_, cost_of(declared, limits_));
  if (!share) {
    return tl::unexpected(
        overloaded("the contents in progress fill the memory that http.max_mib gives them; try again"));
  }
  show_progress();
  auto content = exchange.read_content(most);
  if (!content) return tl::unexpected(std::move(content).error());
  auto asked = decode(*content, exchange, route);
  if (asked) return std::move(*asked);
  const bool again = asked.error().code == ErrorCode::kOverloaded;
  return tl::unexpected(http_error(asked.error(), again ? setup_.admission->retry_after_us() : 0));
}

Result<HttpInference::Asked> HttpInference::decode(const std::string& content, const HttpExchange& exchange,
                                                   const V2Route& route) {
  Asked asked;
  const auto model = setup_.node->catalog->find(route.model, route.version);
  if (!model) return tl::unexpected(model.error());
  asked.model = *model;
  const auto json_bytes = binary_header(exchange);
  if (!json_bytes) return tl::unexpected(json_bytes.error());
  auto request = decode_v2_request(std::as_bytes(std::span(content)), *json_bytes, limits_);
  if (!request) return tl::unexpected(std::move(request).error());
  const auto body = encode_request_body(request->body, limits_);
  if (!body) return tl::unexpected(body.error());
  RequestHeader& header = request->header;
  header.model = asked.model->model->name;
  header.model_version = asked.model->model->version;
  const std::uint64_t longest = std::uint64_t{config_.http.max_wait_ms} * 1000;
  header.deadline_us = header.deadline_us == 0 ? longest : std::min(header.deadline_us, longest);
  auto admitted = setup_.admission->admit({}, std::move(header), body->bytes(), asked.model);
  if (!admitted) return tl::unexpected(std::move(admitted).error().error);
  (*admitted)->header.request_id = (*admitted)->key;
  asked.request = std::move(*admitted);
  asked.wishes = std::move(request->wishes);
  asked.id = std::move(request->id);
  return asked;
}

void HttpInference::run(HttpExchange& exchange, const Asked& asked) {
  const auto waiter = std::make_shared<ReplyWaiter>();
  const caf::actor actor = spawn_request_actor(setup_.system, waiter, setup_.router->get());
  in_flight_.add(kHttpClients, asked.request->key, actor);
  hand_over();
  caf::anon_send(actor, StartRequest{asked.request});
  const Outcome outcome = wait(exchange, *waiter, actor);
  in_flight_.remove(kHttpClients, asked.request->key);
  const Answer answer = answer_to(asked, outcome);
  setup_.monitor.requests().answered({answer.reply.error, outcome.queue_us, outcome.compute_us,
                                      microseconds(steady_now() - asked.request->arrival)});
  setup_.monitor.http().answered(answer.reply.status);
  exchange.write(answer.reply);
  in_flight_.answered();
}

Outcome HttpInference::wait(HttpExchange& exchange, ReplyWaiter& waiter, const caf::actor& actor) {
  const TimePoint until = steady_now() + std::chrono::milliseconds(config_.http.max_wait_ms) + kGrace;
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
  spdlog::error("a request over HTTP was never answered");
  Outcome lost;
  lost.error = Error{ErrorCode::kInternal, "the server lost this request; see the server's log"};
  return lost;
}

HttpInference::Answer HttpInference::answer_to(const Asked& asked, const Outcome& outcome) const {
  if (outcome.error) return {http_error(*outcome.error, outcome.retry_after_us), nullptr};
  V2Answer answer;
  answer.model = asked.model->model->name;
  answer.version = asked.model->model->version;
  answer.id = asked.id;
  answer.outputs = outcome.outputs;
  answer.cells = outcome.cells;
  answer.timings = {outcome.queue_us, outcome.compute_us,
                    microseconds(steady_now() - asked.request->arrival)};
  auto share = InFlightGauge::enter(memory_, v2_answer_bound(answer, asked.wishes));
  if (!share) {
    return {overloaded("the contents in progress fill the memory that http.max_mib gives them; ask for "
                       "binary_data, or try again"),
            nullptr};
  }
  auto content = encode_v2_answer(answer, asked.wishes);
  if (!content) return {http_error(content.error()), nullptr};
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
