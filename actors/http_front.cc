#include "actors/http_front.h"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/http_exchange.h"
#include "actors/http_inference.h"
#include "actors/http_models.h"
#include "actors/http_watch.h"
#include "monitoring/civet_listener.h"
#include "protocol/v2/describe.h"
#include "protocol/v2/route.h"

namespace volvox {
namespace {

// Threads beyond http.max_requests: they refuse what is too much, and say how the server is.
constexpr std::uint32_t kSpareThreads = 4;
// How long a stopping server lets its last answers be read.
constexpr Duration kLastAnswers = std::chrono::seconds(1);

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
    const auto address = parse_host_port(config_.http.listen);
    if (!address) return tl::unexpected(address.error());
    ListenerOptions options;
    options.address = *address;
    options.threads = config_.http.max_requests + kSpareThreads;
    options.io_timeout_ms = config_.http.io_timeout_ms;
    options.purpose = "http.listen";
    auto listener = CivetListener::start(options, [this](mg_connection* connection) { serve(connection); });
    if (!listener) return tl::unexpected(listener.error());
    listener_ = std::move(*listener);
    return {};
  }

  std::uint16_t port() const { return listener_->port(); }
  HttpInference& inference() { return inference_; }

  void stop() {
    if (!listener_) return;
    watch_.wait_until_idle(kLastAnswers);
    watch_.cut_all();
    listener_.reset();
  }

 private:
  // An exception must not unwind through civetweb's C code.
  void serve(mg_connection* connection) {
    try {
      HttpExchange exchange(connection, watch_, std::chrono::milliseconds(config_.http.io_timeout_ms));
      serve(exchange);
    } catch (const std::exception& error) {
      spdlog::error("a request over HTTP failed: {}", error.what());
    }
  }

  void serve(HttpExchange& exchange) {
    const auto route = parse_v2_route(exchange.path());
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

  HttpReply readiness(std::string content) const {
    HttpReply reply = ok(std::move(content));
    if (!ready()) reply.status = 503;
    return reply;
  }

  HttpReply describe(const V2Route& route) const {
    switch (route.endpoint) {
      case V2Endpoint::kServer:
        return ok(v2_server_metadata(config_.server.name, setup_.monitor.version()));
      case V2Endpoint::kLive:
        return ok(v2_live_content());
      case V2Endpoint::kReady:
        return readiness(v2_ready_content(ready()));
      default:
        return describe_model(route);
    }
  }

  HttpReply describe_model(const V2Route& route) const {
    const auto model = setup_.models->find(route.model, route.version);
    if (!model) return http_error(model.error());
    if (route.endpoint == V2Endpoint::kModelReady)
      return readiness(v2_model_ready_content(model->name, ready()));
    if (route.endpoint == V2Endpoint::kStatistics)
      return ok(v2_statistics(setup_.models->statistics(*model)));
    return ok(v2_model_metadata(setup_.models->metadata(*model)));
  }

  const ServeConfig config_;
  HttpFrontSetup setup_;
  HttpInference inference_;
  HttpWatch watch_;
  std::unique_ptr<CivetListener> listener_;  // last: its threads use the others
};

HttpFront::HttpFront(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpFront::~HttpFront() {
  stop();
}

Result<std::unique_ptr<HttpFront>> HttpFront::start(const ServeConfig& config, HttpFrontSetup setup) {
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
void HttpFront::abort_requests() {
  impl_->inference().abort_requests();
}
void HttpFront::stop() {
  impl_->stop();
}

}  // namespace volvox
