#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <caf/all.hpp>

#include "actors/edge/admission.h"
#include "actors/edge/in_flight.h"
#include "actors/edge/reply_sink.h"
#include "actors/system/actor_slot.h"
#include "base/error.h"
#include "config/schema.h"
#include "monitoring/log/log_subject.h"
#include "monitoring/metrics/request_metrics.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/sockets/edge_socket.h"
#include "serving/tally.h"
#include "serving/token_buckets.h"
#include "serving/turn_line.h"

namespace volvox {

// Clients come from outside the house: they may be many, slow, broken or gone. The gateway owns their socket
// on a thread of its own. It reads the header of each request, refuses at once what is malformed, too much or
// too late, and gives each other request an actor; replies come back from any thread. It never waits for a
// client. start(), drain(), stop(): one thread. answer(): any.
class Gateway : public ReplySink, private EdgeHandler, public std::enable_shared_from_this<Gateway> {
 public:
  // Binds. Requests go to the runner of the moment.
  static Result<std::shared_ptr<Gateway>> open(const ServeConfig& config, caf::actor_system& system,
                                               std::shared_ptr<ActorSlot> runner,
                                               std::shared_ptr<Admission> admission, RequestMetrics& metrics);
  ~Gateway() override;

  // The address that clients connect to, with the port that was found.
  const std::string& endpoint() const { return edge_->endpoint(); }
  void start();

  // Waits until every accepted request is answered. False: it took too long.
  bool wait_until_answered(Duration timeout) { return in_flight_.wait_until_empty(timeout); }
  // Answers what is left UNAVAILABLE.
  void abort_requests();
  // Sends what is left to send, for at most `patience`, and ends the thread. No request may be in flight.
  void stop(Duration patience);
  // Requests that were accepted and have no answer yet. Any thread.
  std::size_t unanswered() const { return in_flight_.unanswered(); }

  void answer(const IncomingRequest& request, const Outcome& outcome) override;
  void answer_parts(std::uint64_t first_id, std::span<const Answered> parts) override;
  bool partial(const IncomingRequest& request, std::uint32_t index, const Outcome& part) override;

 private:
  Gateway(const ServeConfig& config, caf::actor_system& system, std::shared_ptr<ActorSlot> runner,
          std::shared_ptr<Admission> admission, RequestMetrics& metrics);

  // What somebody asks, but for its body.
  struct Message {
    Caller caller;
    RequestHeader header;
  };
  // One that waits until parts before it are answered. Nobody has looked into it: what it holds is little,
  // and lies together.
  struct Waiting {
    Message message;
    std::shared_ptr<const WireBuffer> body;
    Admission::Shares shares;
  };

  void run();
  void look_around();
  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte> body) override;
  void take(const ClientId& client, std::span<const std::byte> header, std::span<const std::byte> body,
            LogSubject& about);
  void on_requests_read() override { hand_on_gathered(); }
  void refuse_untaken(const ClientId& client, const LogSubject& about, const std::exception& why);
  void on_client_gone(const ClientId& client, ClientGone why) override;
  void on_client_refused(const RefusedClient& client) override;
  void on_keys_trouble(const std::string& why) override;
  bool must_wait(const Message& message, std::size_t body_bytes);
  void wait(Message message, std::span<const std::byte> body);
  void take_turns();
  void go_on(Waiting waiting);
  void go_on_all();
  void go_on_all_of(const ClientId& client);
  void accept_any(Message message, OfferedBody body);
  void accept(Message message, OfferedBody body);
  void hand_on_gathered();
  void accept_bundle(Message message, OfferedBody body);
  void spawn_bundle(const ClientId& client, std::uint64_t first_id, std::span<const std::uint64_t> ids,
                    std::vector<RequestPtr> parts);
  void refuse_parts(const ClientId& client, std::uint64_t first_id,
                    std::span<const AdmittedBundle::Refused> parts);
  void cancel(const ClientId& client, const RequestHeader& header);
  void send_bundle(const ClientId& client, std::uint64_t first_id, std::span<PartReply> replies);
  void refuse(const ClientId& client, std::uint64_t id, Refusal why);
  void look_for_silence(TimePoint now);
  void lose(const ClientId& client, LostClient why);
  Result<WireBuffer> encode_result(const Outcome& outcome) const;
  void pong(const ClientId& client, const RequestHeader& header);
  void say(const ClientId& client, const ReplyHeader& header, WireBuffer&& body);
  OutgoingReply outgoing(const ClientId& client, const ReplyHeader& header, WireBuffer&& body) const;

  const ServeConfig config_;
  const WireLimits limits_;
  caf::actor_system& system_;
  std::shared_ptr<ActorSlot> runner_;
  std::shared_ptr<Admission> admission_;
  RequestMetrics& metrics_;
  std::unique_ptr<EdgeSocket> edge_;
  TokenBuckets signals_;  // of each connection: pings and cancels
  InFlightTable in_flight_;
  TurnLine<Waiting> line_;
  bool line_was_there_ = false;  // when its turns were taken last
  std::vector<RequestPtr>
      gathered_;               // parts of sessions that came one by one, and are in flight; no actor yet
  std::uint64_t dropped_ = 0;  // replies, as counted so far
  std::uint64_t clients_refused_ = 0;  // likewise
  std::uint64_t malformed_ = 0;        // likewise
  std::string last_refused_;           // in words
  Tally refusals_;                     // to be told of
  TimePoint looked_{};                 // for silent clients

  std::atomic<bool> aborting_{false}, stopping_{false};
  TimePoint stop_until_{};  // written before stopping_
  std::thread thread_;
};

}  // namespace volvox
