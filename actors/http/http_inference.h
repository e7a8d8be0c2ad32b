#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <caf/all.hpp>

#include "actors/edge/in_flight.h"
#include "actors/edge/reply_waiter.h"
#include "actors/http/http_exchange.h"
#include "actors/http/http_front.h"
#include "actors/http/http_sequences.h"
#include "protocol/v2/request_codec.h"
#include "protocol/v2/route.h"

namespace volvox {

// Inference over HTTP: from the content of a POST to what is written back. Called by the HTTP server's
// threads, any number at once.
class HttpInference {
 public:
  HttpInference(const ServeConfig& config, HttpFrontSetup setup);

  // Answers the exchange, whatever happens.
  void serve(HttpExchange& exchange, const V2Route& route);

  // As HttpFront says.
  bool wait_until_answered(Duration timeout) { return in_flight_.wait_until_empty(timeout); }
  void abort_requests();
  std::size_t unanswered() const { return in_flight_.unanswered(); }
  // From time to time: forgets what nobody asks for any more.
  void tidy(TimePoint now) { sequences_.tidy(now); }

 private:
  // A request that was let in.
  struct Asked {
    HttpModel model;
    std::shared_ptr<IncomingRequest> request;
    V2Wishes wishes;
    std::string id;
    std::unique_ptr<SequencePlace> place;  // in its sequence; null: it stands alone
  };
  // What is written, and the share of the bounds that it takes.
  struct Answer {
    HttpReply reply;
    InFlightShare share;
  };

  tl::expected<Asked, HttpReply> accept(HttpExchange& exchange, const V2Route& route);
  tl::expected<Asked, HttpReply> decode(const std::string& content, HttpExchange& exchange,
                                        const V2Route& route);
  tl::expected<Asked, HttpReply> admit(V2Request request, HttpExchange& exchange, const V2Route& route,
                                       HttpModel named);
  tl::unexpected<HttpReply> client_gone();
  tl::expected<std::unique_ptr<SequencePlace>, HttpReply> stand_in_line(const V2Request& request,
                                                                        const V2Route& route,
                                                                        const std::string& client,
                                                                        std::uint32_t present);
  // What is kept of the body, whose model runs in this process, or elsewhere.
  Result<IncomingBody> keep(const RequestBody& body, bool runs_here) const;
  tl::expected<HttpModel, HttpReply> choose_model(HttpModel named, SequencePlace* place) const;
  SequencePlace::Turn wait_for_turn(HttpExchange& exchange, const Asked& asked);
  void run(HttpExchange& exchange, const Asked& asked);
  void await_and_answer(HttpExchange& exchange, const Asked& asked, ReplyWaiter& waiter,
                        const caf::actor& actor);
  Outcome wait(HttpExchange& exchange, const Asked& asked, ReplyWaiter& waiter, const caf::actor& actor);
  Answer answer_to(const Asked& asked, const Outcome& outcome) const;
  HttpReply overloaded(const char* message) const;
  void refuse(HttpExchange& exchange, const HttpReply& reply);
  void show_progress() const;

  const ServeConfig config_;
  const WireLimits limits_;
  HttpFrontSetup setup_;
  std::shared_ptr<InFlightGauge> slots_, memory_;
  const HashKey content_key_;
  HttpSequences sequences_;
  InFlightTable in_flight_;
  std::atomic<bool> aborting_{false};
};

}  // namespace volvox
