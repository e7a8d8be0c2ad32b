#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "protocol/curve/curve_guard.h"
#include "protocol/limits.h"
#include "protocol/sockets/burst_queue.h"
#include "protocol/sockets/outgoing_reply.h"
#include "protocol/sockets/reply_backlog.h"
#include "protocol/sockets/reply_shares.h"
#include "protocol/sockets/zmq_socket.h"

namespace volvox {

enum class ClientGone {
  kUnreachable,  // its connection is closed
  kTooSlow,      // it has not read its replies for too long
};

// What the edge tells the layer above, on the thread that calls EdgeSocket::run_once.
class EdgeHandler {
 public:
  virtual ~EdgeHandler() = default;

  // A request of two frames, neither yet decoded nor checked. The bytes are valid during the call only.
  virtual void on_request(const ClientId& client, std::span<const std::byte> header,
                          std::span<const std::byte> body) = 0;
  // All that had come was read, or as much of it as is read at a time; after at least one request.
  virtual void on_requests_read() {}

  // Replies to this client had to be dropped: more may not reach it over this connection, so that its other
  // requests may as well be cancelled. May come more than once for one client.
  virtual void on_client_gone(const ClientId& client, ClientGone why) = 0;

  // A connection was not let in: it has no key, or not a known one.
  virtual void on_client_refused(const RefusedClient&) {}
  // The clients' keys cannot be read, and why; empty: they can again.
  virtual void on_keys_trouble(const std::string&) {}
};

// What an edge needs to encrypt. Whoever is not among the clients is not let in.
struct EdgeKeys {
  CurveKeys server;
  CurveClients clients;
};

struct EdgeOptions {
  WireLimits limits{};
  std::optional<EdgeKeys> keys{};  // nothing: plain text, and everybody may speak
  int replies_per_client = 1000;   // that ZeroMQ takes for one client; further ones wait here
  std::size_t slow_client_bytes = std::size_t{64} << 20;  // of one client's replies that have not left, and
  std::size_t waiting_bytes = std::size_t{256} << 20;     // of all clients' such replies
  Duration slow_client_patience =
      std::chrono::seconds(2);  // time without progress, after which it counts as gone

  int requests_per_client = 1000;  // that wait here before its connection is no longer read

  // Half of it for messages that have begun to come: past it, the connection that holds most of them is
  // closed. The other half for those that wait to be handled: past it, nothing more is read.
  std::size_t receiving_bytes = std::size_t{256} << 20;

  // Connections, and those of them from one address and with one key; more are refused.
  std::uint32_t connections = 16'384, connections_per_address = 12'288, connections_per_key = 12'288;
  Duration idle_after = std::chrono::minutes(10);  // so long without a message, one without a key is closed

  std::size_t queued_replies = 65536;  // between post() and the socket
  std::size_t queued_bytes = std::size_t{256} << 20;
  int burst = 256;  // messages handled in one direction before the other gets its turn
  int accept_backlog = 1024;
  Duration linger = std::chrono::seconds(1);       // for replies under way when the socket closes
  Duration dead_after = std::chrono::seconds(15);  // a host that acknowledges nothing for so long is cut off
};

// Counts since the start.
struct EdgeStats {
  std::uint64_t requests = 0;
  std::uint64_t malformed = 0;  // not two frames; refused at once
  std::uint64_t replies = 0;    // handed to ZeroMQ
  std::uint64_t dropped_unreachable = 0;
  std::uint64_t dropped_slow = 0;
  std::uint64_t refused_full = 0;     // post() found the queue full
  std::uint64_t refused_clients = 0;  // connections that were not let in
};

// What connections make ZeroMQ keep, and, since the start, which of them it had to refuse or close.
struct EdgeDoor {
  std::uint64_t connections = 0;
  std::uint64_t unfinished_bytes = 0, unread_bytes = 0;  // messages not complete; complete, but not handled
  std::uint64_t refused_full = 0, refused_address = 0, refused_key = 0;
  std::uint64_t accept_failures = 0;    // for want of descriptors or memory; tried again a moment later
  std::uint64_t closed_unfinished = 0;  // held most when too much was unfinished
  std::uint64_t closed_oversized = 0;   // a message of too many frames or bytes
  std::uint64_t closed_idle = 0;
};

// Requests come in on one ZeroMQ socket, which only one thread may touch, while replies are made by many.
// This owns the socket (a ROUTER), hands each request to a handler, and takes replies from any thread through
// a bounded queue that wakes the socket's thread once per burst. It never waits for a client: what cannot be
// sent now is dropped, counted, and reported. open(), bind() and run_once(): one thread at a time, with a
// happens-before between different ones. post(), wake(), stats(): any thread. The handler must outlive the
// socket.
class EdgeSocket {
 public:
  static Result<std::unique_ptr<EdgeSocket>> open(const EdgeOptions& options, EdgeHandler& handler);

  // "tcp://127.0.0.1:7100", "tcp://127.0.0.1:*" (any free port), "ipc:///run/volvox.sock". May be called
  // again for more.
  Status bind(const std::string& endpoint);

  // The last endpoint bound, with the port that was found for '*'. Empty before bind().
  const std::string& endpoint() const { return endpoint_; }

  // Sends what is posted and receives what has come; if there is neither, sleeps up to `timeout`
  // (Duration::max(): until something comes) and then does both once. Returns how many messages it handled.
  std::size_t run_once(Duration timeout);

  // Takes a reply. False, and the reply is dropped and counted, when the queue is full. Order is kept per
  // posting thread.
  bool post(OutgoingReply&& reply);

  // Whether post() would take a reply with so large a body.
  bool has_room(std::size_t bytes) const { return replies_.has_room(bytes); }

  // Takes a reply whatever is in the queue: an answer for which there was room a moment ago, or the error
  // that says there was none. The caller bounds their number.
  void post_anyway(OutgoingReply&& reply);

  // The name that belongs to the key of the client whose request is being handled; empty without encryption.
  // Valid within EdgeHandler::on_request().
  std::string_view sender_name() const {
    return guard_ ? frames_[1].property("User-Id") : std::string_view();
  }

  // The body of the request that is being handled, to be kept (ZmqFrame::keep); on_request()'s view of it may
  // end. Once within EdgeHandler::on_request().
  std::shared_ptr<const WireBuffer> keep_body() { return frames_[2].keep(); }

  // Makes the current or next run_once() return soon.
  void wake() { replies_.wake(); }

  // Replies posted but not yet handed to ZeroMQ; the thread of run_once() only.
  std::size_t unsent() const { return replies_.size() + batch_.size() - batch_sent_ + backlog_.replies(); }

  EdgeStats stats() const;

  // The thread of run_once() only.
  EdgeDoor door();

  // Replies, and their bytes, that have not left for their clients: here and in ZeroMQ.
  std::size_t waiting_replies() const;
  std::size_t waiting_bytes() const;

 private:
  struct Counters {
    std::atomic<std::uint64_t> requests{0}, malformed{0}, replies{0}, dropped_unreachable{0}, dropped_slow{0},
        refused_full{0};
  };

  // ZeroMQ's threads give shares back.
  struct GuardedShares {
    std::mutex mutex;
    ReplyShares shares;
  };
  class HeldShare;

  EdgeSocket(const EdgeOptions& options, EdgeHandler& handler);
  Status configure();
  Status bound_connections();
  std::size_t send_replies();
  std::size_t receive_requests();
  bool receive_request();
  void refuse(const ClientId& client, std::size_t frames);
  void tell_of_refused();
  void send(OutgoingReply&& reply);
  bool hold(OutgoingReply& reply);
  bool make_room(const ClientId& sender);
  int try_send(OutgoingReply& reply);
  int send_frames(const ClientId& client, ReplyFrames& frames);
  std::size_t retry_backlog();
  void drop(const ClientId& client, std::size_t replies, int error);
  std::size_t forget(const ClientId& client);

  const EdgeOptions options_;
  EdgeHandler& handler_;
  ZmqContext context_;
  std::unique_ptr<CurveGuard> guard_;  // outlives the socket: without it ZeroMQ would let everybody in
  ZmqSocket socket_;
  std::uint64_t refused_clients_ = 0;  // as told so far
  std::uint64_t troubles_ = 0;         // likewise, of the keys
  std::string endpoint_;
  ZmqFrame frames_[3];  // identity, header, body: kept, so that receiving reuses them
  ClientId sender_;
  BurstQueue<OutgoingReply> replies_;
  std::vector<OutgoingReply> batch_;
  std::size_t batch_sent_ = 0;
  ReplyBacklog backlog_;
  const std::shared_ptr<GuardedShares> shares_;
  Counters counters_;
};

}  // namespace volvox
