#include "actors/http/http_front.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/http/http_exchange.h"
#include "actors/http/http_inference.h"
#include "actors/http/http_models.h"
#include "actors/http/http_watch.h"
#include "config/addresses.h"
#include "config/tokens.h"
#include "monitoring/http/civet_listener.h"
#include "monitoring/http/http_door.h"
#include "protocol/v2/describe.h"
#include "protocol/v2/route.h"

namespace volvox {
namespace {

// Threads beyond http.max_requests: they refuse what is too much, and say how the server is.
constexpr std::uint32_t kSpareThreads = 4;
// Until a content's rate counts: what comes first comes out of buffers, or with a connection's first window.
constexpr Duration kUploadGrace = std::chrono::seconds(2);
// How long a stopping server lets its last answers be read.
constexpr Duration kLastAnswers = std::chrono::seconds(1);

Result<HttpRules> read_rules(const HttpSection& section, const std::string& host) {
  HttpRuleSettings door;
  door.listen_host = host;
  door.hosts = split_addresses(section.hosts);
  door.origins = split_addresses(section.origins);
  if (!section.token.empty()) {
    auto tokens = read_tokens(section.token);
    if (!tokens) return tl::unexpected(tokens.error());
    door.tokens = std::move(*tokens);
  }
  return HttpRules(std::move(door));
}

UploadRules upload_rules(const HttpSection& section) {
  return {std::chrono::milliseconds(section.io_timeout_ms), kUploadGrace, section.min_bytes_per_second};
}

HttpReply ok(std::string content) {
  HttpReply reply;
  reply.content = std::move(content);
  return reply;
}

}  // namespace

class HttpFront::Impl {
 public:
  Impl(const ServeConfig& config, HttpFrontSetup setup)
      : config_(config),
        setup_(setup),
        inference_(config, std::move(setup)),
        watch_(setup_.monitor.http(), [this](TimePoint now) { inference_.tidy(now); }) {}

  Status start() {
    const auto address = parse_listen_address(config_.http.listen);
    if (!address) return tl::unexpected(address.error());
    auto rules = read_rules(config_.http, address->tcp.host);
    if (!rules) return tl::unexpected(rules.error());
    rules_.emplace(std::move(*rules));
    if (Status inside = listen_inside(); !inside) return inside;
    return open_door(*address);
  }

  std::uint16_t port() const { return door_->port(); }
  HttpInference& inference() { return inference_; }

  void stop() {
    if (!listener_) return;
    watch_.wait_until_idle(kLastAnswers);
    watch_.cut_all();
    if (door_) door_->finish(kLastAnswers);
    listener_.reset();
    door_.reset();
  }

 private:
  // Where the threads are. Only the door knows it: what others send there is not looked at.
  Status listen_inside() {
    ListenerOptions options;
    options.threads = config_.http.max_requests + kSpareThreads;
    options.io_timeout_ms = config_.http.io_timeout_ms;
    auto listener = CivetListener::start(options, [this](mg_connection* connection) { serve(connection); });
    if (!listener) return tl::unexpected(listener.error());
    listener_ = std::move(*listener);
    return {};
  }

  Status open_door(const ListenAddress& address) {
    HttpMetrics& metrics = setup_.monitor.http();
    DoorSetup door;
    door.address = address;
    door.purpose = "http.listen";
    door.io_timeout = std::chrono::milliseconds(config_.http.io_timeout_ms);
    door.limits = {config_.http.max_connections, config_.http.max_connections_per_client, door.io_timeout};
    door.passed = config_.http.max_requests + kSpareThreads;
    door.questions = kSpareThreads / 2;
    door.reply = [port = listener_->port()](const HttpHead&, const std::string&) {
      DoorReply reply;
      reply.pass_to = port;
      return reply;
    };
    door.connected = [&metrics](std::size_t open) { metrics.set_connections(open); };
    door.cut = [&metrics] { metrics.cut(1); };
    door.refused = [&metrics] { metrics.connection_refused(); };
    try {
      auto opened = HttpDoor::open(std::move(door));
      if (opened) {
        door_ = std::move(*opened);
        open_door_ = door_.get();
        return {};
      }
      no_door_ = true;
      return tl::unexpected(opened.error());
    } catch (...) {
      no_door_ = true;  // before whoever waits for it is waited for
      throw;
    }
  }

  // It may pass the first connections on before its maker has it. Null: it could not be opened.
  const HttpDoor* the_door() const {
    while (open_door_ == nullptr && !no_door_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return open_door_;
  }

  // An exception must not unwind through civetweb's C code.
  void serve(mg_connection* connection) {
    try {
      HttpExchange exchange(connection, watch_, upload_rules(config_.http));
      const HttpDoor* const door = the_door();
      const std::string client = door == nullptr ? std::string() : door->client_at(exchange.port());
      if (client.empty()) return;  // the connection ends
      const std::size_t token = rules_->token_number(exchange.headers());
      exchange.set_client(token == 0 ? "http/" + client : "http/token " + std::to_string(token));
      answer(exchange);
    } catch (const std::exception& error) {
      spdlog::error("a connection over HTTP failed: {}", error.what());
    }
  }

  // Where there was no memory for what was to be said, there is some for the short words that say so.
  void answer(HttpExchange& exchange) {
    try {
      serve(exchange);
    } catch (const std::exception& error) {
      spdlog::error("a request over HTTP failed: {}", error.what());
      if (exchange.is_answered()) return;
      write(exchange, http_error({ErrorCode::kInternal, "the server failed at this request; see its log"}));
    }
  }

  // Before anything is looked up: what a page or a stranger sends tells them nothing.
  std::optional<HttpRefused> check(const HttpExchange& exchange, const V2Route* route) const {
    const HttpHeaders headers = exchange.headers();
    if (auto refused = rules_->check_sender(headers)) return refused;
    const bool asks_for_health =
        route != nullptr && (route->endpoint == V2Endpoint::kLive || route->endpoint == V2Endpoint::kReady);
    if (asks_for_health) return std::nullopt;
    if (auto refused = rules_->check_token(headers)) return refused;
    return exchange.method() == "POST" ? rules_->check_content(headers) : std::nullopt;
  }

  void turn_away(HttpExchange& exchange, const HttpRefused& refused) {
    setup_.monitor.http().refused(refused.reason);
    HttpReply reply = http_error(refused.status, refused.error);
    if (refused.reason == HttpRefusal::kToken) reply.headers += "WWW-Authenticate: Bearer\r\n";
    write(exchange, reply);
  }

  void serve(HttpExchange& exchange) {
    const auto route = parse_v2_route(exchange.path());
    if (const auto refused = check(exchange, route ? &*route : nullptr)) return turn_away(exchange, *refused);
    if (!route) return write(exchange, http_error(route.error()));
    const bool posts = exchange.method() == "POST";
    const bool gets = exchange.method() == "GET" || exchange.method() == "HEAD";
    if (route->endpoint != V2Endpoint::kInfer) {
      return write(exchange, gets ? describe(*route) : wrong_method("GET, HEAD"));
    }
    if (!posts) return write(exchange, wrong_method("POST"));
    inference_.serve(exchange, *route);
  }

  void write(HttpExchange& exchange, const HttpReply& reply) {
    setup_.monitor.http().answered(reply.status);
    exchange.write(reply);
  }

  static HttpReply wrong_method(const std::string& allowed) {
    HttpReply reply = http_error(405, {ErrorCode::kInvalidArgument, "this path takes " + allowed + " only"});
    reply.headers += "Allow: " + allowed + "\r\n";
    return reply;
  }

  bool ready() const { return setup_.monitor.readiness_page().status == 200; }

  static HttpReply readiness(bool ready, std::string content) {
    HttpReply reply = ok(std::move(content));
    if (!ready) reply.status = 503;
    return reply;
  }

  HttpReply describe(const V2Route& route) const {
    switch (route.endpoint) {
      case V2Endpoint::kServer:
        return ok(v2_server_metadata(config_.server.name, setup_.monitor.version()));
      case V2Endpoint::kLive:
        return ok(v2_live_content());
      case V2Endpoint::kReady: {
        const bool is = ready();
        return readiness(is, v2_ready_content(is));
      }
      default:
        return describe_model(route);
    }
  }

  HttpReply describe_model(const V2Route& route) const {
    const auto model = setup_.models->find(route.model, route.version);
    if (!model) return http_error(model.error());
    if (route.endpoint == V2Endpoint::kModelReady) {
      const bool is = ready();
      return readiness(is, v2_model_ready_content(model->name, is));
    }
    if (route.endpoint == V2Endpoint::kStatistics)
      return ok(v2_statistics(setup_.models->statistics(*model)));
    return ok(v2_model_metadata(setup_.models->metadata(*model)));
  }

  const ServeConfig config_;
  HttpFrontSetup setup_;
  std::optional<HttpRules> rules_;
  HttpInference inference_;
  HttpWatch watch_;
  std::unique_ptr<HttpDoor> door_;
  std::atomic<const HttpDoor*> open_door_{nullptr};  // the threads are there before it
  std::atomic<bool> no_door_{false};                 // nor will there be one
  std::unique_ptr<CivetListener> listener_;          // last: its threads use the others
};

HttpFront::HttpFront(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpFront::~HttpFront() {
  stop();
}

Result<std::unique_ptr<HttpFront>> HttpFront::start(const ServeConfig& config, HttpFrontSetup setup) {
  const bool for_anybody = config.http.token.empty() && !config.http.listen.starts_with("unix:");
  if (for_anybody && !config.security.server_key.empty()) {
    spdlog::warn(
        "clients need a key at server.listen, but none at http.listen, {}: set http.token, or http.listen to "
        "nothing",
        config.http.listen);
  }
  auto impl = std::make_unique<Impl>(config, std::move(setup));
  if (const Status started = impl->start(); !started) return tl::unexpected(started.error());
  return std::unique_ptr<HttpFront>(new HttpFront(std::move(impl)));
}

std::uint16_t HttpFront::port() const {
  return impl_->port();
}
bool HttpFront::wait_until_answered(Duration timeout) {
  return impl_->inference().wait_until_answered(timeout);
}
std::size_t HttpFront::unanswered() const {
  return impl_->inference().unanswered();
}
void HttpFront::abort_requests() {
  impl_->inference().abort_requests();
}
void HttpFront::stop() {
  impl_->stop();
}

}  // namespace volvox
