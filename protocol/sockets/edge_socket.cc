#include "protocol/sockets/edge_socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "protocol/codec/codec.h"

namespace volvox {
namespace {

// A connection may become writable without its descriptor saying so: while replies wait for one, look this
// often.
constexpr Duration kBacklogPeriod = std::chrono::milliseconds(5);

constexpr Duration kHandshake = std::chrono::seconds(10);

// Wrong numbers of frames are answered; only what is no honest mistake closes the connection.
constexpr std::uint32_t kFrames = 32;

// What a reply takes up besides its bytes, with what ZeroMQ and the allocator add.
constexpr std::size_t kReplyOverhead = 512;

// One writer (the socket's thread) for all but refused_full: relaxed, for they only count.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

std::uint64_t get(const std::atomic<std::uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

}  // namespace

Result<std::unique_ptr<EdgeSocket>> EdgeSocket::open(const EdgeOptions& options, EdgeHandler& handler) {
  if (auto ok = check_limits(options.limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
  std::unique_ptr<EdgeSocket> edge(new EdgeSocket(options, handler));
  if (auto ok = edge->configure(); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return edge;
}

EdgeSocket::EdgeSocket(const EdgeOptions& options, EdgeHandler& handler)
    : options_(options),
      handler_(handler),
      socket_(context_, ZMQ_ROUTER),
      replies_(options.queued_replies, options.queued_bytes),
      backlog_(options.slow_client_patience),
      shares_(new GuardedShares{{}, {options.slow_client_bytes, options.waiting_bytes}}) {}

Status EdgeSocket::configure() {
  if (socket_.handle() == nullptr || replies_.fd() < 0) {
    return fail(ErrorCode::kUnavailable, "out of file descriptors; raise the limit of open files");
  }
  const std::pair<int, int> settings[] = {
      {ZMQ_ROUTER_MANDATORY, 1},  // without it, a full or closed connection loses replies in silence
      {ZMQ_SNDHWM, options_.replies_per_client},
      {ZMQ_RCVHWM, options_.requests_per_client},
      {ZMQ_LINGER, socket_milliseconds(options_.linger)},
      {ZMQ_BACKLOG, options_.accept_backlog},
      {ZMQ_HANDSHAKE_IVL, socket_milliseconds(kHandshake)},
  };
  for (const auto& [option, value] : settings) {
    if (auto ok = socket_.set(option, value); !ok) return ok;
  }
  if (auto ok = bound_connections(); !ok) return ok;
  if (options_.keys) {
    auto guard = CurveGuard::protect(context_, socket_, options_.keys->server, options_.keys->clients);
    if (!guard) return tl::unexpected<Error>(std::move(guard).error());
    guard_ = std::move(*guard);
  }
  if (auto ok = socket_.detect_dead_peers(options_.dead_after); !ok) return ok;
  const auto largest = std::max(options_.limits.max_header_bytes, options_.limits.max_body_bytes);
  return socket_.set64(ZMQ_MAXMSGSIZE, static_cast<long long>(largest));
}

Status EdgeSocket::bound_connections() {
  zmq_door_limits_t limits{};
  limits.connections = options_.connections;
  limits.per_address = options_.connections_per_address;
  limits.per_name = options_.connections_per_key;
  limits.frames = kFrames;
  constexpr std::size_t kPerFrame = 2 * sizeof(zmq_msg_t);
  limits.message_bytes =
      options_.limits.max_header_bytes + options_.limits.max_body_bytes + kFrames * kPerFrame;
  limits.unfinished_bytes = options_.receiving_bytes / 2;
  limits.unread_bytes = options_.receiving_bytes / 2;
  limits.idle_ms = static_cast<std::uint32_t>(socket_milliseconds(options_.idle_after));
  return socket_.set_bytes(ZMQ_DOOR_LIMITS, std::as_bytes(std::span(&limits, 1)));
}

Status EdgeSocket::bind(const std::string& endpoint) {
  if (auto ok = socket_.bind(endpoint); !ok) return ok;
  endpoint_ = socket_.last_endpoint();
  return {};
}

std::size_t EdgeSocket::run_once(Duration timeout) {
  tell_of_refused();
  if (const std::size_t handled = send_replies() + receive_requests(); handled > 0) return handled;
  // Nothing was received, so the last thing the socket said was EAGAIN: its descriptor announces whatever
  // comes now.
  if (!backlog_.empty()) timeout = std::min(timeout, kBacklogPeriod);
  if (replies_.fall_asleep()) wait_readable({socket_.fd(), replies_.fd()}, timeout);
  replies_.awake();
  return send_replies() + receive_requests();
}

bool EdgeSocket::post(OutgoingReply&& reply) {
  const std::size_t bytes = reply.bytes();
  if (replies_.push(std::move(reply), bytes) == PushResult::kTaken) return true;
  add(counters_.refused_full, 1);
  return false;
}

void EdgeSocket::post_anyway(OutgoingReply&& reply) {
  const std::size_t bytes = reply.bytes();
  replies_.push(std::move(reply), bytes, false);
}

std::size_t EdgeSocket::send_replies() {
  const std::size_t retried = retry_backlog();
  if (batch_sent_ == batch_.size()) {
    batch_.clear();
    batch_sent_ = 0;
    replies_.take(batch_);
  }
  const std::size_t end = std::min(batch_.size(), batch_sent_ + static_cast<std::size_t>(options_.burst));
  const std::size_t count = end - batch_sent_;
  while (batch_sent_ < end) send(std::move(batch_[batch_sent_++]));
  return retried + count;
}

std::size_t EdgeSocket::receive_requests() {
  std::size_t count = 0;
  while (count < static_cast<std::size_t>(options_.burst) && receive_request()) ++count;
  if (count > 0) handler_.on_requests_read();
  return count;
}

bool EdgeSocket::receive_request() {
  if (frames_[0].receive(socket_.handle()) != 0) return false;
  std::size_t count = 1;
  // ZeroMQ delivers all frames of a message or none, so the rest is there.
  for (bool more = frames_[0].more(); more; ++count) {
    ZmqFrame& frame = frames_[std::min<std::size_t>(count, 2)];
    if (frame.receive(socket_.handle()) != 0) break;
    more = frame.more();
  }
  const auto identity = frames_[0].bytes();
  sender_.assign(reinterpret_cast<const char*>(identity.data()), identity.size());
  if (count != 3) {
    refuse(sender_, count - 1);
  } else {
    add(counters_.requests, 1);
    handler_.on_request(sender_, frames_[1].bytes(), frames_[2].bytes());
  }
  return true;
}

void EdgeSocket::tell_of_refused() {
  if (!guard_) return;
  if (const std::uint64_t troubles = guard_->troubles(); troubles != std::exchange(troubles_, troubles))
    handler_.on_keys_trouble(guard_->trouble());
  if (guard_->refused() == refused_clients_) return;
  refused_clients_ = guard_->refused();
  for (const RefusedClient& client : guard_->take_refused()) handler_.on_client_refused(client);
}

void EdgeSocket::refuse(const ClientId& client, std::size_t frames) {
  add(counters_.malformed, 1);
  Error error{ErrorCode::kInvalidArgument, "a request is two frames, header and body, but " +
                                               std::to_string(frames) +
                                               " came; use a DEALER socket, which adds no delimiter"};
  try {
    auto header = encode_reply_header(error_reply(0, std::move(error)), options_.limits);
    if (header) send({client, std::move(*header), {}});
  } catch (const std::bad_alloc&) {
    drop(client, 1, ENOMEM);
  }
}

// What a reply becomes when it is sent.
struct ReplyFrames {
  // ZeroMQ sends the header first, so that the share is given back with the last of the two.
  explicit ReplyFrames(OutgoingReply& reply)
      : header(std::move(reply.header), reply.body.empty() ? std::move(reply.held) : nullptr),
        body(std::move(reply.body), std::move(reply.held)) {}

  ZmqFrame header, body;
};

void EdgeSocket::send(OutgoingReply&& reply) {
  int error = 0;
  try {
    if (!hold(reply)) return drop(reply.client, 1, EAGAIN);
    if (!make_room(reply.client)) return;
    const bool behind_others = !backlog_.empty() && backlog_.holds(reply.client);
    error = behind_others ? EAGAIN : try_send(reply);
    if (error == EAGAIN) return backlog_.add(std::move(reply), steady_now());
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  if (error != 0) drop(reply.client, 1 + backlog_.remove(reply.client), error);
}

class EdgeSocket::HeldShare final : public FrameHold {
 public:
  HeldShare(std::shared_ptr<GuardedShares> shares, std::size_t bytes)
      : shares_(std::move(shares)), bytes_(bytes) {}
  // As ReplyShares::hold() says.
  bool take(const ClientId& client) {
    const std::lock_guard lock(shares_->mutex);
    holder_ = shares_->shares.hold(client, bytes_);
    return holder_.has_value();
  }
  ~HeldShare() override {
    if (!holder_) return;
    const std::lock_guard lock(shares_->mutex);
    shares_->shares.give_back(*holder_, bytes_);
  }

 private:
  const std::shared_ptr<GuardedShares> shares_;
  const std::size_t bytes_;
  std::optional<std::uint64_t> holder_;
};

// A share of the memory for replies, until the last byte is with the kernel; false if the client has none
// left.
bool EdgeSocket::hold(OutgoingReply& reply) {
  // A header of a hundred bytes was built in four thousand, which stay with it.
  const std::size_t bytes = reply.header.held_bytes() + reply.body.held_bytes() + kReplyOverhead;
  auto share = std::make_unique<HeldShare>(shares_, bytes);
  if (!share->take(reply.client)) return false;
  reply.held = std::move(share);
  return true;
}

// Parts with the biggest holders while all hold too much; false if the sender was one of them.
bool EdgeSocket::make_room(const ClientId& sender) {
  for (;;) {
    std::optional<ClientId> biggest;
    {
      const std::lock_guard lock(shares_->mutex);
      biggest = shares_->shares.must_go();
    }
    if (!biggest) return true;
    drop(*biggest, 0, EAGAIN);
    if (*biggest == sender) return false;
  }
}

std::size_t EdgeSocket::forget(const ClientId& client) {
  const std::lock_guard lock(shares_->mutex);
  return shares_->shares.forget(client);
}

// All that takes memory comes before the first frame is sent: ZeroMQ waits for the rest of a message that was
// begun, and one that is ended with an empty frame is an answer to nothing. ENOMEM: there was none.
int EdgeSocket::try_send(OutgoingReply& reply) {
  try {
    if (reply.frames) return send_frames(reply.client, *reply.frames);
    ReplyFrames frames(reply);
    const int error = send_frames(reply.client, frames);
    if (error == EAGAIN) reply.frames = std::make_shared<ReplyFrames>(std::move(frames));
    return error;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int EdgeSocket::send_frames(const ClientId& client, ReplyFrames& frames) {
  ZmqFrame identity(std::as_bytes(std::span(client)));
  // The first frame finds the connection; the others cannot fail any more, unless it closes between them.
  if (const int error = identity.send(socket_.handle(), true); error != 0) return error;
  if (frames.header.send(socket_.handle(), true) != 0 || frames.body.send(socket_.handle(), false) != 0)
    return EHOSTUNREACH;
  add(counters_.replies, 1);
  return 0;
}

// How many waiting replies have left, sent or dropped.
std::size_t EdgeSocket::retry_backlog() {
  if (backlog_.empty()) return 0;
  const std::size_t waited = backlog_.replies();
  backlog_.retry(
      steady_now(), [this](OutgoingReply& reply) { return try_send(reply); },
      [this](const ClientId& client, std::size_t replies, int error) { drop(client, replies, error); });
  return waited - backlog_.replies();
}

// With a client that is too slow goes its connection: what ZeroMQ holds for it must go too, and the client
// learns of it at once. So does one whose reply is lost for want of memory: it would wait for it.
void EdgeSocket::drop(const ClientId& client, std::size_t replies, int error) {
  const bool cut = error == EAGAIN || error == ENOMEM;
  if (cut) {
    backlog_.remove(client);
    replies = std::max(replies, forget(client));
    // Fails if the connection has just ended by itself.
    static_cast<void>(zmq_setsockopt(socket_.handle(), ZMQ_DOOR_DISCONNECT, client.data(), client.size()));
  }
  add(cut ? counters_.dropped_slow : counters_.dropped_unreachable, replies);
  handler_.on_client_gone(client, cut ? ClientGone::kTooSlow : ClientGone::kUnreachable);
}

EdgeStats EdgeSocket::stats() const {
  EdgeStats stats;
  stats.requests = get(counters_.requests);
  stats.malformed = get(counters_.malformed);
  stats.replies = get(counters_.replies);
  stats.dropped_unreachable = get(counters_.dropped_unreachable);
  stats.dropped_slow = get(counters_.dropped_slow);
  stats.refused_full = get(counters_.refused_full);
  if (guard_) stats.refused_clients = guard_->refused();
  return stats;
}

EdgeDoor EdgeSocket::door() {
  zmq_door_counts_t counts{};
  std::size_t size = sizeof(counts);
  zmq_getsockopt(socket_.handle(), ZMQ_DOOR_COUNTS, &counts, &size);
  EdgeDoor door;
  door.connections = counts.connections;
  door.unfinished_bytes = counts.unfinished_bytes;
  door.unread_bytes = counts.unread_bytes;
  door.refused_full = counts.refused_full;
  door.refused_address = counts.refused_address;
  door.refused_key = counts.refused_name;
  door.accept_failures = counts.accept_failed;
  door.closed_unfinished = counts.closed_unfinished;
  door.closed_oversized = counts.closed_oversized;
  door.closed_idle = counts.closed_idle;
  return door;
}

std::size_t EdgeSocket::waiting_replies() const {
  const std::lock_guard lock(shares_->mutex);
  return shares_->shares.replies();
}

std::size_t EdgeSocket::waiting_bytes() const {
  const std::lock_guard lock(shares_->mutex);
  return shares_->shares.bytes();
}

}  // namespace volvox
