#include "protocol/client/channel.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "protocol/client/dealer.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"
#include "protocol/sockets/wakeup.h"

namespace volvox {
namespace {

// ZeroMQ waits at least 100 ms before it connects anew, so that whoever looks this often never mistakes the
// new connection for the old one.
constexpr Duration kMonitorPeriod = std::chrono::milliseconds(10);

// Places of the descriptors that poll() sleeps on.
constexpr unsigned kMonitorReadable = 1U << 1;
constexpr unsigned kWakeReadable = 1U << 2;

std::string describe_unknown(const Result<ReplyHeader>& header) {
  if (!header) return to_string(header.error());
  if (header->kind == ReplyKind::kError) return to_string(header->error);
  return "a reply to request " + std::to_string(header->request_id) + ", which was not sent here";
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::connect(const ChannelOptions& options) {
  auto channel = open(options);
  if (!channel) return channel;
  if (auto ok = await_connection((*channel)->monitor_, options.endpoint, options.connect_timeout); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  return channel;
}

Result<std::unique_ptr<Channel>> Channel::open(const ChannelOptions& options) {
  if (auto ok = check_limits(options.limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
  if (options.poll_burst < 1) return invalid("poll_burst is at least 1");
  std::unique_ptr<Channel> channel(new Channel(options));
  if (auto ok = dial(channel->socket_, channel->monitor_, options); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  return channel;
}

Channel::Channel(const ChannelOptions& options)
    : options_(options), socket_(context_, ZMQ_DEALER), monitor_(context_) {}

Result<std::uint64_t> Channel::send(const ClientRequest& request) {
  auto body = encode_request_body(request.body, options_.limits);
  if (!body) return tl::unexpected<Error>(std::move(body).error());
  return send(request.header, std::move(*body), request.timeout);
}

Result<std::uint64_t> Channel::send(RequestHeader header, std::span<const std::byte> body, Duration timeout) {
  ZmqFrame frame(body);
  return send_frames(header, frame, timeout);
}

Result<std::uint64_t> Channel::send(RequestHeader header, WireBuffer&& body, Duration timeout) {
  ZmqFrame frame(std::move(body));
  return send_frames(header, frame, timeout);
}

Result<std::uint64_t> Channel::send(const ClientBundle& bundle) {
  auto body = encode_request_bundle(bundle.body(), options_.limits);
  if (!body) return tl::unexpected<Error>(std::move(body).error());
  return send_bundle(bundle.counted_header(), std::move(*body), bundle.timeout);
}

Result<std::uint64_t> Channel::send_bundle(RequestHeader header, WireBuffer&& body, Duration timeout) {
  header.kind = RequestKind::kBundle;
  const std::uint32_t parts = header.parts;
  ZmqFrame frame(std::move(body));
  auto id = send_frames(header, frame, timeout);
  if (!id) return id;
  bundles_.add(*id, parts);
  next_id_ = std::max(next_id_, *id + parts);
  return id;
}

Result<std::uint64_t> Channel::ping(Duration timeout) {
  RequestHeader header;
  header.kind = RequestKind::kPing;
  return send(std::move(header), std::span<const std::byte>{}, timeout);
}

Result<std::uint64_t> Channel::send_frames(RequestHeader& header, ZmqFrame& body, Duration timeout) {
  const TimePoint now = steady_now();
  check_connection(now);
  if (header.request_id == 0) header.request_id = next_id_;
  const std::uint64_t id = header.request_id;
  if (pending_.find(id) != nullptr) return invalid("request " + std::to_string(id) + " is in flight already");
  if (body.bytes().size() > options_.limits.max_body_bytes)
    return invalid("the request body exceeds max_body_bytes");
  if (auto ok = push(header, body); !ok) return tl::unexpected<Error>(std::move(ok).error());
  next_id_ = std::max(next_id_, id + 1);
  const Duration limit = timeout > Duration{0} ? timeout : options_.default_timeout;
  if (pending_.size() == 0)
    last_ping_ = now;  // the request itself shows life; most are answered before the first ping
  pending_.add(id, now, limit > Duration{0} ? later(now, limit) : TimePoint::max());
  ++stats_.sent;
  return id;
}

Status Channel::push(const RequestHeader& header, ZmqFrame& body) {
  // ZeroMQ would keep it for a connection that may come much later, when nobody waits for the answer any
  // more.
  if (!monitor_.connected())
    return fail(ErrorCode::kUnavailable, "no connection to '" + options_.endpoint + "'");
  auto bytes = encode_request_header(header, options_.limits);
  if (!bytes) return tl::unexpected<Error>(std::move(bytes).error());
  ZmqFrame frame(std::move(*bytes));
  int error = frame.send(socket_.handle(), true);
  if (error == 0) error = body.send(socket_.handle(), false);
  if (error == 0) {
    sent_to_it_ = true;
    return {};
  }
  if (error == EAGAIN) {
    return fail(ErrorCode::kOverloaded, "the send queue is full; wait for answers before sending more");
  }
  return fail(ErrorCode::kInternal, "cannot send: " + zmq_error_text(error));
}

Status Channel::cancel(std::uint64_t id, std::uint32_t count) {
  RequestHeader header;
  header.kind = RequestKind::kCancel;
  header.request_id = id;
  header.parts = count > 1 ? count : 0;
  ZmqFrame empty;
  return push(header, empty);
}

std::size_t Channel::poll(Duration timeout, const Handler& handler, int wake_fd) {
  TimePoint now = steady_now();
  const TimePoint until = later(now, timeout);
  for (;; now = steady_now()) {
    check_connection(now);
    ping_in_time(now);
    std::size_t delivered = 0;
    const bool drained = receive_all(handler, delivered);
    // Only then: replies that came before the connection broke are answers, too.
    if (drained) delivered += report_lost(handler);
    delivered += report_expired(now, handler);
    if (delivered > 0) return delivered;
    if (!drained) continue;
    if (now >= until) return 0;
    // Nothing was sent since the socket said EAGAIN, so that its descriptor announces whatever comes now.
    const TimePoint wake = std::min(until, next_event());
    const Duration left = wake == TimePoint::max() ? Duration::max() : wake - steady_now();
    const unsigned readable = wait_readable({socket_.fd(), monitor_.fd(), wake_fd}, left);
    if ((readable & kMonitorReadable) != 0) monitored_ = TimePoint{};
    if ((readable & kWakeReadable) != 0) {
      receive_all(handler, delivered);
      return delivered;
    }
  }
}

void Channel::ping_in_time(TimePoint now) {
  if (now < next_ping()) return;
  last_ping_ = now;  // also when it cannot be sent: the next try may wait as long
  RequestHeader header;
  header.kind = RequestKind::kPing;
  ZmqFrame empty;
  if (push(header, empty) && unanswered_ == TimePoint{}) unanswered_ = now;
}

TimePoint Channel::next_ping() const {
  if (pending_.size() == 0 || options_.sign_of_life <= Duration{0}) return TimePoint::max();
  return later(last_ping_, options_.sign_of_life);
}

void Channel::check_connection(TimePoint now) {
  if (monitored_ != TimePoint{} && now - monitored_ < kMonitorPeriod) return;
  monitored_ = now;
  if (!monitor_.poll()) return;
  lost_ = pending_.ids();
  broke_ = true;
  unanswered_ = TimePoint{};
}

bool Channel::receive_all(const Handler& handler, std::size_t& delivered) {
  for (int i = 0; i < options_.poll_burst; ++i) {
    if (frames_[0].receive(socket_.handle()) != 0) return true;
    unanswered_ = TimePoint{};
    std::size_t count = 1;
    for (bool more = frames_[0].more(); more; ++count) {
      if (frames_[1].receive(socket_.handle()) != 0) break;
      more = frames_[1].more();
    }
    if (count == 2) {
      delivered += accept(frames_[0].bytes(), frames_[1].bytes(), handler) ? 1 : 0;
    } else {
      ++stats_.unknown;
      last_problem_ = "a reply of " + std::to_string(count) + " frames";
    }
  }
  return false;
}

bool Channel::accept(std::span<const std::byte> header, std::span<const std::byte> body,
                     const Handler& handler) {
  std::uint64_t id = 0;
  auto decoded = decode_reply_header(header, options_.limits, &id);
  if (decoded && decoded->kind == ReplyKind::kPong && id == 0) return false;  // to a sign of life
  switch (pending_.match(id)) {
    case PendingRequests::Match::kLate:
      ++stats_.late;
      return false;
    case PendingRequests::Match::kDuplicate:
      ++stats_.duplicates;
      return false;
    case PendingRequests::Match::kUnknown:
      ++stats_.unknown;
      last_problem_ = describe_unknown(decoded);
      return false;
    case PendingRequests::Match::kPending:
      break;
  }
  if (!decoded) return accept_unreadable(id, std::move(decoded).error(), handler);
  if (bundles_.contains(id) || decoded->kind == ReplyKind::kBundle)
    return accept_bundle(*decoded, body, handler);
  if (is_repeated_partial(*decoded)) return false;
  Reply reply;
  reply.header = std::move(*decoded);
  if (!body.empty()) {
    auto content = decode_reply_body(body, options_.limits);
    if (!content) return accept_unreadable(id, std::move(content).error(), handler);
    reply.body = std::move(*content);
  }
  return deliver(std::move(reply), handler);
}

bool Channel::accept_bundle(const ReplyHeader& header, std::span<const std::byte> body,
                            const Handler& handler) {
  const std::uint64_t id = header.request_id;
  if (header.kind == ReplyKind::kError && bundles_.contains(id))
    return refuse_bundle(id, header.error, false, header.undecided);
  if (header.kind != ReplyKind::kBundle || !bundles_.contains(id)) {
    return accept_unreadable(
        id, {ErrorCode::kInternal, "it is of kind " + std::string(to_string(header.kind))}, handler);
  }
  auto content = read_reply_bundle(WireBuffer::share_copy_of(body), options_.limits);
  if (!content) return accept_unreadable(id, std::move(content).error(), handler);
  BundleReply reply;
  reply.elapsed = steady_now() - pending_.find(id)->sent;
  if (!bundles_.take(id, *content, reply.final)) {
    ++stats_.duplicates;
    return false;
  }
  reply.first_id = id;
  reply.server = header.server;
  stats_.results += content->done.size();
  stats_.errors += content->errors.size();
  if (reply.final) pending_.remove(id, true);
  reply.body = std::move(*content);
  if (bundle_handler_) bundle_handler_(std::move(reply));
  return true;
}

// Each part that has no answer yet gets this one.
bool Channel::refuse_bundle(std::uint64_t id, const Error& error, bool local, bool undecided) {
  const Duration elapsed = steady_now() - pending_.find(id)->sent;
  pending_.remove(id, !local);
  BundleReply reply = local_bundle_reply(id, bundles_.give_up(id), error, undecided, elapsed);
  reply.local = local;
  if (!local) stats_.errors += reply.body.errors.size();
  if (bundle_handler_) bundle_handler_(std::move(reply));
  return true;
}

bool Channel::accept_unreadable(std::uint64_t id, Error error, const Handler& handler) {
  ++stats_.unreadable;
  last_problem_ = to_string(error);
  if (error.code != ErrorCode::kUnsupportedVersion) {
    error = {ErrorCode::kInternal, "the server's reply cannot be read: " + error.message};
  }
  return give_up(id, std::move(error), handler);
}

bool Channel::is_repeated_partial(const ReplyHeader& header) {
  if (header.kind != ReplyKind::kPartial) return false;
  PendingRequests::Entry* entry = pending_.find(header.request_id);
  if (header.index < entry->next_partial) {
    ++stats_.duplicates;
    return true;
  }
  entry->next_partial = header.index + 1;
  return false;
}

bool Channel::deliver(Reply&& reply, const Handler& handler) {
  const std::uint64_t id = reply.header.request_id;
  reply.elapsed = steady_now() - pending_.find(id)->sent;
  // Whatever the flag says, only a partial can have a successor.
  reply.header.final = reply.header.final || reply.header.kind != ReplyKind::kPartial;
  if (reply.header.kind == ReplyKind::kPartial) ++stats_.partials;
  if (reply.header.final) {
    ++(reply.header.kind == ReplyKind::kError ? stats_.errors : stats_.results);
    pending_.remove(id, true);
  }
  handler(std::move(reply));
  return true;
}

bool Channel::give_up(std::uint64_t id, Error error, const Handler& handler) {
  const PendingRequests::Entry* entry = pending_.find(id);
  if (entry == nullptr) return false;
  if (bundles_.contains(id)) return refuse_bundle(id, error, true, true);
  const Duration elapsed = steady_now() - entry->sent;
  pending_.remove(id, false);
  handler(local_reply(id, std::move(error), elapsed));
  return true;
}

std::size_t Channel::report_lost(const Handler& handler) {
  // What ZeroMQ keeps for the next connection would run there, although it is answered here as lost. Without
  // any, ZeroMQ's own way does, which waits before it tries a server again that closes connections at once.
  if (std::exchange(broke_, false) && !monitor_.connected() && std::exchange(sent_to_it_, false))
    socket_.connect_anew(options_.endpoint);
  if (lost_.empty()) return 0;
  std::size_t count = 0;
  for (const std::uint64_t id : std::exchange(lost_, {})) {
    const Error error{ErrorCode::kUnavailable,
                      "the connection broke before the answer came; the request may or may not have run"};
    if (!give_up(id, error, handler)) continue;
    ++count;
    ++stats_.lost;
  }
  return count;
}

std::size_t Channel::report_expired(TimePoint now, const Handler& handler) {
  if (pending_.next_deadline() > now) return 0;
  std::size_t count = 0;
  for (const std::uint64_t id : pending_.expired(now)) {
    // A failure to tell the server changes nothing here: the answer is given anyway.
    const auto parts = static_cast<std::uint32_t>(bundles_.parts_of(id));
    if (options_.cancel_on_timeout) (void)cancel(id, std::max(parts, 1U));
    const Error error{ErrorCode::kDeadlineExceeded, "no answer came within the client's own time limit"};
    if (!give_up(id, error, handler)) continue;
    ++count;
    ++stats_.timeouts;
  }
  return count;
}

ChannelStats Channel::stats() const {
  ChannelStats stats = stats_;
  stats.connects = monitor_.connects();
  stats.disconnects = monitor_.disconnects();
  return stats;
}

}  // namespace volvox
