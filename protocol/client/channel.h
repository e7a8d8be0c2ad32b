#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "protocol/bundle.h"
#include "protocol/client/bundle_flights.h"
#include "protocol/client/pending.h"
#include "protocol/curve/curve_keys.h"
#include "protocol/limits.h"
#include "protocol/request.h"
#include "protocol/sockets/connection_monitor.h"
#include "protocol/sockets/zmq_socket.h"

namespace volvox {

// What a client needs to speak with a server that encrypts.
struct ChannelKeys {
  std::string server;  // the server's public key
  CurveKeys client;    // its own, which the server must know
};

struct ChannelOptions {
  std::string endpoint;  // "tcp://host:port" or "ipc:///path"; a ChannelGroup takes several, with commas
  WireLimits limits{};   // at most the server's
  std::optional<ChannelKeys> keys{};                    // nothing: plain text
  Duration connect_timeout = std::chrono::seconds(5);   // how long connect() waits for the server
  Duration default_timeout = std::chrono::seconds(30);  // for requests that say none; 0 = wait for ever
  Duration linger = std::chrono::milliseconds(200);     // for requests under way when the channel closes
  Duration dead_after = std::chrono::seconds(15);  // a host that acknowledges nothing for so long is lost
  int send_queue = 10000;                          // requests that wait for the network before send() refuses
  int receive_queue = 0;          // replies that wait for poll(); 0 = no bound but the requests in flight
  int poll_burst = 256;           // the most replies of the server, at least 1, that one poll() takes
  bool cancel_on_timeout = true;  // tell the server of requests given up on
  // How often poll() pings the server while requests are in flight: the server cancels those of a client that
  // says nothing for some seconds, and the answers tell a slow server from one that is gone. 0: never.
  Duration sign_of_life = std::chrono::milliseconds(200);

  // Of a ChannelGroup with several endpoints:
  Duration silent_after = std::chrono::seconds(1);      // a server that answers no ping for so long is left
  std::uint32_t max_attempts = 3;                       // at one request, the first included
  std::size_t max_kept_bytes = std::size_t{256} << 20;  // bodies kept to be sent again
};

// Counts since connect().
struct ChannelStats {
  std::uint64_t sent = 0;
  std::uint64_t results = 0;  // final answers that are no error, pongs included
  std::uint64_t partials = 0;
  std::uint64_t errors = 0;      // final answers of the server that are errors
  std::uint64_t timeouts = 0;    // answered locally: DEADLINE_EXCEEDED
  std::uint64_t lost = 0;        // answered locally: UNAVAILABLE, for the connection broke
  std::uint64_t unreadable = 0;  // answered locally: the reply could not be decoded
  std::uint64_t late = 0;        // replies to requests given up on; not delivered
  std::uint64_t duplicates = 0;  // replies to requests answered before, partials seen before; not delivered
  std::uint64_t unknown = 0;     // replies to nothing that was asked; not delivered
  std::uint64_t connects = 0;
  std::uint64_t disconnects = 0;
  std::uint64_t resent = 0;    // of a ChannelGroup: requests that went to another server
  std::uint64_t silences = 0;  // of these: because the one before was silent
};

// One connection to one server, many requests in flight. A load generator must not share its thread with a
// library's, and an event loop has one already; so this starts no thread (ZeroMQ's own moves the bytes):
// replies, time limits and lost connections are handled inside poll(). Every request that send() accepts is
// answered exactly once (partials before that apart), by the server or locally; nothing is ever sent twice,
// and after a lost connection everything in flight is answered UNAVAILABLE, while ZeroMQ connects anew.
//
//   auto channel = Channel::connect({.endpoint = "tcp://127.0.0.1:7100"}).value();
//   const std::vector<std::int32_t> tokens{12, 7, 301};
//   channel->send(chain_request("lstm", "tokens", std::span(tokens)));
//   while (channel->in_flight() > 0)
//     channel->poll(std::chrono::seconds(1), [](Reply&& reply) { print(reply.body.find("h")); });
//
// All calls from one thread at a time. Destruction forgets what is in flight without answering it.
class Channel {
 public:
  // Called by poll(), once per reply. It may call send(), ping() and cancel(), not poll().
  using Handler = std::function<void(Reply&&)>;

  // UNAVAILABLE if nobody answers within connect_timeout; UNAUTHENTICATED if the server refuses the keys, or
  // that there are none; INVALID_ARGUMENT for an endpoint or limits that
  // make no sense.
  static Result<std::unique_ptr<Channel>> connect(const ChannelOptions& options);
  // The same without waiting for the server: poll() until connected(), or until refusal() says why not.
  static Result<std::unique_ptr<Channel>> open(const ChannelOptions& options);

  // Sends a request and returns its id. Never blocks: OVERLOADED if the send queue is full, UNAVAILABLE while
  // there is no connection, INVALID_ARGUMENT if it exceeds the limits. After an error nothing was sent.
  Result<std::uint64_t> send(const ClientRequest& request);

  // The same with a body from encode_request_body(): for one who sends the same body often.
  Result<std::uint64_t> send(RequestHeader header, std::span<const std::byte> body,
                             Duration timeout = Duration{0});
  Result<std::uint64_t> send(RequestHeader header, WireBuffer&& body, Duration timeout = Duration{0});

  // Sends many parts in one message and returns the id of the first; part i has that id + i. Answers come,
  // some at a time, to the handler of bundles; each part has exactly one. A bundle that the server refuses as
  // a whole, an old one for example, is that error for each part. Errors as of send().
  Result<std::uint64_t> send(const ClientBundle& bundle);
  // The same of a body from encode_request_bundle(), whose number of parts the header says.
  Result<std::uint64_t> send_bundle(RequestHeader header, WireBuffer&& body, Duration timeout = Duration{0});
  // Who gets the answers of bundles, within poll() as a Handler. To be set before the first bundle is sent.
  using BundleHandler = std::function<void(BundleReply&&)>;
  void on_bundle(BundleHandler handler) { bundle_handler_ = std::move(handler); }
  // Numbers of the parts of a bundle, by the id of its part 0, that have no answer.
  std::vector<std::uint32_t> unanswered(std::uint64_t bundle) const { return bundles_.unanswered(bundle); }

  // Asks for a pong, answered without touching a model.
  Result<std::uint64_t> ping(Duration timeout = Duration{0});

  // Asks the server to stop a request, or so many with ids from this one on. They are still answered:
  // CANCELLED, or with the result if that was under way.
  Status cancel(std::uint64_t id, std::uint32_t count = 1);

  // Waits for this answer no more: it is late when it comes.
  void forget(std::uint64_t id) { pending_.remove(id, false); }

  // Delivers what has come, at most poll_burst of the server's replies; if nothing has, waits up to `timeout`
  // (Duration::max(): for ever) or until `wake_fd` is readable (it is only looked at). Returns the number of
  // replies delivered; 0 after the time, or after wake_fd.
  std::size_t poll(Duration timeout, const Handler& handler, int wake_fd = -1);

  // Requests without an answer; a bundle counts as one until all its parts have theirs.
  std::size_t in_flight() const { return pending_.size(); }
  bool connected() const { return monitor_.connected(); }
  const Status& refusal() const { return monitor_.refusal(); }
  bool turned_away() const { return monitor_.turned_away(); }
  // Connections so far: the newest one's number.
  std::uint64_t connection() const { return monitor_.connects(); }
  // For how long a ping has waited while nothing at all came; 0 if none waits.
  Duration silence(TimePoint now) const {
    return unanswered_ == TimePoint{} ? Duration{0} : now - unanswered_;
  }
  ChannelStats stats() const;

  // What the last undeliverable reply said or what was wrong with it; for logs. Empty if there was none.
  const std::string& last_problem() const { return last_problem_; }

  // For one who sleeps on several channels at once, right after poll() returned 0 and nothing was sent since:
  // what wakes it, and when to poll() at the latest. notice() is for the second descriptor.
  int reply_fd() { return socket_.fd(); }
  int connection_fd() { return monitor_.fd(); }
  void notice() { monitored_ = TimePoint{}; }
  TimePoint next_event() const { return std::min(pending_.next_deadline(), next_ping()); }

 private:
  explicit Channel(const ChannelOptions& options);
  Result<std::uint64_t> send_frames(RequestHeader& header, ZmqFrame& body, Duration timeout);
  Status push(const RequestHeader& header, ZmqFrame& body);
  void check_connection(TimePoint now);
  void ping_in_time(TimePoint now);
  TimePoint next_ping() const;
  bool receive_all(const Handler& handler, std::size_t& delivered);
  bool accept(std::span<const std::byte> header, std::span<const std::byte> body, const Handler& handler);
  bool accept_bundle(const ReplyHeader& header, std::span<const std::byte> body, const Handler& handler);
  bool refuse_bundle(std::uint64_t id, const Error& error, bool local, bool undecided);
  bool accept_unreadable(std::uint64_t id, Error error, const Handler& handler);
  bool is_repeated_partial(const ReplyHeader& header);
  bool deliver(Reply&& reply, const Handler& handler);
  bool give_up(std::uint64_t id, Error error, const Handler& handler);
  std::size_t report_lost(const Handler& handler);
  std::size_t report_expired(TimePoint now, const Handler& handler);

  const ChannelOptions options_;
  ZmqContext context_;
  ZmqSocket socket_;
  ConnectionMonitor monitor_;
  TimePoint monitored_{};
  TimePoint last_ping_{};
  TimePoint unanswered_{};  // the first ping since something came
  ZmqFrame frames_[2];
  PendingRequests pending_;
  BundleFlights bundles_;  // of these
  BundleHandler bundle_handler_;
  bool sent_to_it_ = false;          // to the connection: something may wait for it
  bool broke_ = false;               // the connection, and what waited for it is not forgotten yet
  std::vector<std::uint64_t> lost_;  // in flight when the connection broke, and not yet reported
  std::uint64_t next_id_ = 1;
  ChannelStats stats_;
  std::string last_problem_;
};

}  // namespace volvox
