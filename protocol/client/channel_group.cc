#include "protocol/client/channel_group.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <utility>

#include <poll.h>

#include "base/clock.h"
#include "config/addresses.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"

namespace volvox {
namespace {

// How often all requests are looked at while some server is silent.
constexpr Duration kLookPeriod = std::chrono::milliseconds(50);

bool begins_unnamed(const RequestHeader& header) {
  return header.session && header.session->operation == SessionOperation::kBegin &&
         header.session->nonce == 0;
}

// What an attempt at this time says: the rows that the client has are not wanted again, but for the last one,
// since an answer cannot begin behind its end; and the others are of the version of the model that those are
// of.
std::optional<RequestHeader> header_of(const RequestHeader& first, std::uint32_t next_row,
                                       std::uint32_t version, Duration passed) {
  RequestHeader header = first;
  if (next_row > header.stream_from) header.stream_from = next_row - 1;
  if (header.model_version == 0) header.model_version = version;
  if (header.deadline_us == 0) return header;
  const auto passed_us =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(passed).count());
  if (passed_us >= header.deadline_us) return std::nullopt;
  header.deadline_us -= passed_us;
  return header;
}

}  // namespace

Result<std::unique_ptr<ChannelGroup>> ChannelGroup::connect(const ChannelOptions& options) {
  const std::vector<std::string> endpoints = split_addresses(options.endpoint);
  if (endpoints.empty()) return invalid("no server is named; write tcp://HOST:PORT or ipc://PATH");
  if (endpoints.size() > kMostEndpoints) return invalid("a client knows 15 servers at most");
  if (options.max_attempts == 0) return invalid("max_attempts is at least 1");
  std::unique_ptr<ChannelGroup> group(new ChannelGroup(options));
  if (auto ok = group->open(endpoints); !ok) return tl::unexpected<Error>(std::move(ok).error());
  if (auto ok = group->await_connection(); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return group;
}

Status ChannelGroup::open(const std::vector<std::string>& endpoints) {
  for (const std::string& endpoint : endpoints) {
    ChannelOptions options = options_;
    options.endpoint = endpoint;
    auto channel = Channel::open(options);
    if (!channel) return tl::unexpected<Error>(std::move(channel).error());
    (*channel)->on_bundle([this](BundleReply&& reply) { take_bundle(std::move(reply)); });
    channels_.push_back(std::move(*channel));
  }
  on_.resize(channels_.size());
  return {};
}

Status ChannelGroup::await_connection() {
  const TimePoint until = later(steady_now(), options_.connect_timeout);
  for (TimePoint now = steady_now();; now = steady_now()) {
    std::size_t refused = 0;
    for (const auto& channel : channels_) {
      channel->notice();
      channel->poll(Duration{0}, [](Reply&&) {});
      if (channel->connected()) return {};
      refused += channel->refusal() ? 0 : 1;
    }
    if (refused == channels_.size()) return channels_.front()->refusal();
    if (now >= until) break;
    sleep(until - now, -1);
  }
  const bool turned_away = std::any_of(channels_.begin(), channels_.end(),
                                       [](const auto& channel) { return channel->turned_away(); });
  return tl::unexpected(no_server_answers(options_.endpoint, options_.connect_timeout, turned_away));
}

Result<std::uint64_t> ChannelGroup::send(const ClientRequest& request) {
  auto body = encode_request_body(request.body, options_.limits);
  if (!body) return tl::unexpected<Error>(std::move(body).error());
  return send(request.header, std::move(*body), request.timeout);
}

Result<std::uint64_t> ChannelGroup::send(RequestHeader header, WireBuffer&& body, Duration timeout) {
  const TimePoint now = steady_now();
  const std::size_t bytes = body.size();
  if (!alone() && kept_bytes_ + bytes > options_.max_kept_bytes) {
    return fail(
        ErrorCode::kOverloaded,
        "too many bytes wait for answers; wait for some before sending more, or raise max_kept_bytes");
  }
  header.request_id = next_id(header);
  const std::uint64_t id = header.request_id;
  if (flights_.contains(id)) return invalid("request " + std::to_string(id) + " is in flight already");
  Flight flight;
  flight.header = std::move(header);
  flight.body = std::move(body);
  flight.sent = now;
  const Duration limit = timeout > Duration{0} ? timeout : options_.default_timeout;
  if (limit > Duration{0}) flight.expires = later(now, limit);
  if (auto ok = send_somewhere(flight, now, false); !ok) return tl::unexpected<Error>(std::move(ok).error());
  next_id_ = std::max(next_id_, id + 1);
  kept_bytes_ += flight.body.size();
  flights_.emplace(id, std::move(flight));
  return id;
}

Result<std::uint64_t> ChannelGroup::send(const ClientBundle& bundle) {
  auto body = encode_request_bundle(bundle.body(), options_.limits);
  if (!body) return tl::unexpected<Error>(std::move(body).error());
  return send_bundle(bundle.counted_header(), std::move(*body), bundle.timeout);
}

Result<std::uint64_t> ChannelGroup::send_bundle(RequestHeader header, WireBuffer&& body, Duration timeout) {
  header.request_id = next_id(header);
  const std::uint64_t id = header.request_id;
  const std::uint32_t parts = header.parts;
  const std::vector<std::size_t> open = order(Flight{}, steady_now(), false);
  if (open.empty()) return fail(ErrorCode::kUnavailable, "no connection to '" + options_.endpoint + "'");
  auto sent = channels_[open.front()]->send_bundle(std::move(header), std::move(body), timeout);
  if (!sent) return sent;
  next_id_ = std::max(next_id_, id + parts);
  bundles_[id] = {open.front(), parts};
  ++on_[open.front()];
  return sent;
}

std::vector<std::uint32_t> ChannelGroup::unanswered(std::uint64_t bundle) const {
  const auto found = bundles_.find(bundle);
  if (found == bundles_.end()) return {};
  return channels_[found->second.channel]->unanswered(bundle);
}

void ChannelGroup::take_bundle(BundleReply&& reply) {
  ++bundle_replies_;
  const auto found = bundles_.find(reply.first_id);
  if (reply.final && found != bundles_.end()) {
    --on_[found->second.channel];
    bundles_.erase(found);
  }
  if (bundle_handler_) bundle_handler_(std::move(reply));
}

bool ChannelGroup::answers(std::size_t channel, TimePoint now) const {
  return channels_[channel]->connected() && channels_[channel]->silence(now) < options_.silent_after;
}

// Over the connection that it has now: an answer to that attempt may still come over it.
bool ChannelGroup::was_tried(const Flight& flight, std::size_t channel) const {
  return std::any_of(flight.attempts.begin(), flight.attempts.end(), [&](const Attempt& attempt) {
    return attempt.channel == channel && attempt.connection == channels_[channel]->connection();
  });
}

// Where a request may go, the best first. With `answering` to none that is silent.
std::vector<std::size_t> ChannelGroup::order(const Flight& flight, TimePoint now, bool answering) {
  std::vector<std::size_t> open;
  const std::size_t first = turn_++;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const std::size_t channel = (first + i) % channels_.size();
    if (!channels_[channel]->connected() || was_tried(flight, channel)) continue;
    if (!answering || answers(channel, now)) open.push_back(channel);
  }
  std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(!answers(a, now), on_[a]) < std::pair(!answers(b, now), on_[b]);
  });
  return open;
}

Status ChannelGroup::send_somewhere(Flight& flight, TimePoint now, bool answering) {
  if (alone()) return send_to(0, flight, now);
  Status sent = fail(ErrorCode::kUnavailable, "no connection to '" + options_.endpoint + "'");
  for (const std::size_t channel : order(flight, now, answering)) {
    sent = send_to(channel, flight, now);
    const bool elsewhere = !sent && (sent.error().code == ErrorCode::kOverloaded ||
                                     sent.error().code == ErrorCode::kUnavailable);
    if (!elsewhere) break;
  }
  return sent;
}

Status ChannelGroup::send_to(std::size_t channel, Flight& flight, TimePoint now) {
  auto header = header_of(flight.header, flight.next_row, flight.version, now - flight.sent);
  if (!header || now >= flight.expires) {
    return fail(ErrorCode::kDeadlineExceeded, "the deadline has passed; allow more time");
  }
  const Duration left = flight.expires == TimePoint::max() ? Duration{0} : flight.expires - now;
  const auto sent = alone() ? channels_[channel]->send(std::move(*header), std::move(flight.body), left)
                            : channels_[channel]->send(std::move(*header), flight.body.bytes(), left);
  if (!sent) return tl::unexpected<Error>(sent.error());
  flight.attempts.push_back({channel, channels_[channel]->connection()});
  ++on_[channel];
  return {};
}

// The newest attempt is given up for another one.
bool ChannelGroup::send_again(Flight& flight, TimePoint now, bool answering) {
  if (alone() || flight.cancelled || begins_unnamed(flight.header)) return false;
  if (flight.attempts.size() >= options_.max_attempts) return false;
  const std::size_t before = flight.attempts.back().channel;
  if (!send_somewhere(flight, now, answering)) return false;
  --on_[before];
  ++resent_;
  sent_ = true;
  return true;
}

Status ChannelGroup::cancel(std::uint64_t id) {
  const auto bundle = bundles_.find(id);
  if (bundle != bundles_.end()) return channels_[bundle->second.channel]->cancel(id, bundle->second.parts);
  const auto found = flights_.find(id);
  if (found == flights_.end()) return {};
  found->second.cancelled = true;
  return channels_[found->second.attempts.back().channel]->cancel(id);
}

Status ChannelGroup::cancel_part(std::uint64_t bundle, std::uint32_t part) {
  const auto found = bundles_.find(bundle);
  return found == bundles_.end() ? Status{} : channels_[found->second.channel]->cancel(bundle + part);
}

std::size_t ChannelGroup::poll(Duration timeout, const Handler& handler, int wake_fd) {
  const TimePoint until = later(steady_now(), timeout);
  woken_ = false;
  for (;;) {
    sent_ = false;
    std::size_t came = 0, delivered = 0;
    bundle_replies_ = 0;
    for (const auto& channel : channels_) {
      came += channel->poll(Duration{0},
                            [&](Reply&& reply) { delivered += take(std::move(reply), handler) ? 1 : 0; });
    }
    const TimePoint now = steady_now();
    delivered += bundle_replies_ + leave_silent(now, handler);
    if (delivered > 0 || now >= until || woken_) return delivered;
    // What was sent meanwhile may have used up the sign that something came, and a channel that brought
    // something may have more, of which there will be no other sign.
    if (!sent_ && came == 0) sleep(until == TimePoint::max() ? Duration::max() : until - now, wake_fd);
  }
}

void ChannelGroup::sleep(Duration timeout, int wake_fd) {
  std::array<pollfd, 2 * kMostEndpoints + 1> polled{};
  TimePoint wake = later(steady_now(), timeout);
  std::size_t count = 0;
  for (const auto& channel : channels_) {
    polled[count++] = {channel->connection_fd(), POLLIN, 0};
    polled[count++] = {channel->reply_fd(), POLLIN, 0};
    wake = std::min(wake, channel->next_event());
  }
  polled[count++] = {wake_fd, POLLIN, 0};  // ignored where there is none
  const auto left = std::max(wake - steady_now(), Duration{0}).count();
  const timespec span{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  if (::ppoll(polled.data(), count, wake == TimePoint::max() ? nullptr : &span, nullptr) <= 0) return;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (polled[2 * i].revents != 0) channels_[i]->notice();
  }
  woken_ = polled[count - 1].revents != 0;
}

bool ChannelGroup::take(Reply&& reply, const Handler& handler) {
  const auto found = flights_.find(reply.header.request_id);
  if (found == flights_.end()) return false;
  Flight& flight = found->second;
  const TimePoint now = steady_now();
  reply.elapsed = now - flight.sent;
  if (!reply.header.final) {
    if (reply.header.index < flight.next_row) return false;
    flight.next_row = reply.header.index + 1;
    flight.version = reply.header.model_version;
    handler(std::move(reply));
    return true;
  }
  const bool unavailable =
      reply.header.kind == ReplyKind::kError && reply.header.error.code == ErrorCode::kUnavailable;
  const bool unknown = reply.local || reply.header.undecided;
  flight.doubtful = flight.doubtful || (unavailable && unknown);
  // After a lost connection a silent server is better than none.
  if (unavailable && send_again(flight, now, !reply.local)) return false;
  finish(found, std::move(reply), handler);
  return true;
}

// A session that is over is over, whatever its parts have done.
bool ChannelGroup::is_undecided(const Reply& error, bool doubtful) {
  const ErrorCode code = error.header.error.code;
  if (code == ErrorCode::kSessionLost || code == ErrorCode::kSessionExpired) return false;
  return doubtful || error.local || error.header.undecided;
}

void ChannelGroup::finish(Flights::iterator at, Reply&& reply, const Handler& handler) {
  const Flight& flight = at->second;
  --on_[flight.attempts.back().channel];
  kept_bytes_ -= flight.body.size();
  if (reply.header.kind == ReplyKind::kError && flight.header.session)
    reply.header.undecided = is_undecided(reply, flight.doubtful);
  flights_.erase(at);
  handler(std::move(reply));
}

// Requests on servers that are silent go to others, if there are any that answer.
std::size_t ChannelGroup::leave_silent(TimePoint now, const Handler& handler) {
  const auto is_silent = [&](std::size_t channel) {
    return on_[channel] > 0 && channels_[channel]->connected() && !answers(channel, now);
  };
  bool any = false;
  for (std::size_t i = 0; i < channels_.size() && !any; ++i) any = is_silent(i);
  if (!any || now < next_look_) return 0;
  next_look_ = now + kLookPeriod;
  std::vector<std::uint64_t> cancelled;
  for (auto& [id, flight] : flights_) {
    const std::size_t channel = flight.attempts.back().channel;
    if (!is_silent(channel)) continue;
    flight.doubtful = true;
    if (flight.cancelled) cancelled.push_back(id);
    if (!send_again(flight, now, true)) continue;
    ++silences_;
    channels_[channel]->forget(id);
    // Of a session, the same part may already run on behalf of the next attempt.
    if (!flight.header.session) static_cast<void>(channels_[channel]->cancel(id));
  }
  for (const std::uint64_t id : cancelled) {
    const auto found = flights_.find(id);
    channels_[found->second.attempts.back().channel]->forget(id);
    const Error error{ErrorCode::kCancelled, "the server is silent, and the request was cancelled"};
    finish(found, local_reply(id, error, now - found->second.sent), handler);
  }
  return cancelled.size();
}

bool ChannelGroup::connected() const {
  return std::any_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->connected(); });
}

ChannelStats ChannelGroup::stats() const {
  ChannelStats all;
  for (const auto& channel : channels_) {
    const ChannelStats one = channel->stats();
    all.sent += one.sent;
    all.results += one.results;
    all.partials += one.partials;
    all.errors += one.errors;
    all.timeouts += one.timeouts;
    all.lost += one.lost;
    all.unreadable += one.unreadable;
    all.late += one.late;
    all.duplicates += one.duplicates;
    all.unknown += one.unknown;
    all.connects += one.connects;
    all.disconnects += one.disconnects;
  }
  all.resent = resent_;
  all.silences = silences_;
  return all;
}

}  // namespace volvox
