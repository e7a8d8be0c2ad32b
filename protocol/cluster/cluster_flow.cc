#include "protocol/cluster/cluster_flow.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace volvox {
namespace {

constexpr std::size_t kFragmentHeader = 256;  // room for what a fragment says besides its bytes
constexpr std::size_t kWord = 8;              // so that what follows a fragment lies where a word may

// Which request the message concerns; null: none. A cancel does: ahead of its request it would mean nothing
// to the peer.
const ClusterAttempt* attempt_of(const ClusterMessage& message) {
  return std::visit(
      [](const auto& one) -> const ClusterAttempt* {
        if constexpr (requires { one.attempt; }) {
          return &one.attempt;
        } else {
          return nullptr;
        }
      },
      message);
}

bool is_control(const ClusterMessage& message) {
  return attempt_of(message) == nullptr;
}

}  // namespace

Status check(const ClusterFlowLimits& limits) {
  if (limits.max_message_bytes < 2 * kFragmentHeader)
    return invalid("max_message_bytes must be at least 512");
  if (limits.max_total_bytes < limits.max_message_bytes)
    return invalid("max_total_bytes must not be less than max_message_bytes");
  if (limits.max_join_bytes < limits.max_message_bytes)
    return invalid("max_join_bytes must not be less than max_message_bytes");
  if (limits.max_queued_bytes < limits.max_total_bytes)
    return invalid("max_queued_bytes must not be less than max_total_bytes");
  if (limits.max_small_bytes > limits.max_message_bytes)
    return invalid("max_small_bytes must not be more than max_message_bytes");
  if (limits.max_unacked_bytes == 0 || limits.max_streams == 0)
    return invalid("max_unacked_bytes and max_streams must be at least 1");
  return {};
}

Result<ClusterPieces> ClusterOutbox::encode(const ClusterMessage& message) const {
  auto bytes = encode_(message, limits_.wire, generation_);
  if (!bytes || bytes->size() <= limits_.max_total_bytes) return bytes;
  return invalid("a message of " + std::to_string(bytes->size()) + " bytes exceeds the " +
                 std::to_string(limits_.max_total_bytes) +
                 " that travel between router and node; send less at once");
}

ClusterOutbox::Topic ClusterOutbox::topic_of(const ClusterMessage& message) {
  constexpr std::uint64_t kOwn = ~std::uint64_t{0};
  if (const ClusterAttempt* attempt = attempt_of(message))
    return {(std::uint64_t{attempt->index} << 32U) | attempt->generation, attempt->number};
  return {kOwn, ++topics_};
}

Status ClusterOutbox::push(const ClusterMessage& message) {
  auto bytes = encode(message);
  if (!bytes) return tl::unexpected<Error>(std::move(bytes).error());
  if (std::holds_alternative<ClusterSubmit>(message) && queued_ + bytes->size() > limits_.max_queued_bytes)
    return fail(ErrorCode::kOverloaded, "the link to the node is full; try again later");
  queued_ += bytes->size();
  const Topic topic = topic_of(message);
  const std::size_t most = is_control(message) ? message_bytes_ : limits_.max_small_bytes;
  const auto earlier = large_.find(topic);
  if (earlier != large_.end()) {
    earlier->second.push_back(std::move(*bytes));
  } else if (bytes->size() > most) {
    large_[topic].push_back(std::move(*bytes));
    waiting_.push_back(topic);
  } else {
    (is_control(message) ? control_ : small_).push_back(std::move(*bytes));
  }
  return {};
}

Status ClusterOutbox::push_last(const ClusterMessage& message) {
  auto bytes = encode(message);
  if (!bytes) return tl::unexpected<Error>(std::move(bytes).error());
  queued_ += bytes->size();
  last_.push_back(std::move(*bytes));
  return {};
}

ClusterPieces ClusterOutbox::take(std::deque<ClusterPieces>& queue) {
  ClusterPieces bytes = std::move(queue.front());
  queue.pop_front();
  queued_ -= bytes.size();
  return bytes;
}

void ClusterOutbox::open_streams() {
  while (!waiting_.empty() && streams_.size() < limits_.max_streams) {
    streams_.push_back({++opened_, 0, waiting_.front()});
    waiting_.pop_front();
  }
}

// Several are under way at once, so that the link never waits for an acknowledgement that it could carry.
std::size_t ClusterOutbox::fragment_bytes() const {
  const std::size_t most = std::min(message_bytes_ - kFragmentHeader, window_ / 4);
  return std::max(most / kWord, std::size_t{1}) * kWord;
}

// What lies in two pieces is copied only if that spares a fragment.
ClusterBytes ClusterOutbox::next_bytes(const ClusterPieces& whole, std::size_t sent) const {
  const std::size_t size = std::min(fragment_bytes(), whole.size() - sent), in_head = whole.head->size();
  if (sent >= in_head)
    return WireBuffer::share_part_of(whole.tail, whole.tail->bytes().subspan(sent - in_head, size));
  if (whole.tail && size == whole.size()) return whole.whole();
  return WireBuffer::share_part_of(whole.head,
                                   whole.head->bytes().subspan(sent, std::min(size, in_head - sent)));
}

std::optional<ClusterPieces> ClusterOutbox::next_fragment() {
  Stream stream = streams_.front();
  const auto large = large_.find(stream.topic);
  const ClusterPieces& whole = large->second.front();
  const std::size_t total = whole.size();
  const ClusterFragment fragment{stream.id, stream.sent, total, next_bytes(whole, stream.sent)};
  const std::size_t size = fragment.bytes->size();
  auto bytes = encode_(fragment, limits_.wire, generation_);
  if (!bytes) return std::nullopt;
  unacked_.push_back(size);
  unacked_bytes_ += size;
  stream.sent += size;
  streams_.pop_front();
  if (stream.sent < total) {
    streams_.push_back(stream);
    return std::move(*bytes);
  }
  queued_ -= total;
  large->second.pop_front();
  if (large->second.empty()) {
    large_.erase(large);
  } else {
    waiting_.push_back(stream.topic);
  }
  return std::move(*bytes);
}

std::optional<ClusterPieces> ClusterOutbox::next() {
  if (!control_.empty()) return take(control_);
  open_streams();
  const bool may_fragment = !streams_.empty() && unacked_bytes_ < window_;
  waited_ = waited_ || (!streams_.empty() && !may_fragment);
  if (!small_.empty() && !(may_fragment && fragments_turn_)) {
    fragments_turn_ = true;
    return take(small_);
  }
  if (may_fragment) {
    fragments_turn_ = false;
    return next_fragment();
  }
  if (last_.empty() || !streams_.empty() || !unacked_.empty()) return std::nullopt;
  return take(last_);
}

void ClusterOutbox::peer_takes(std::size_t message_bytes) {
  const std::size_t most = limits_.max_message_bytes;
  message_bytes_ = std::clamp(message_bytes, std::min(kLeastMessage, most), most);
}

void ClusterOutbox::acked(std::uint32_t fragments) {
  for (; fragments > 0 && !unacked_.empty(); --fragments) {
    unacked_bytes_ -= unacked_.front();
    acked_bytes_ += unacked_.front();
    unacked_.pop_front();
  }
}

void ClusterOutbox::tick() {
  const std::size_t most = limits_.max_unacked_bytes, least = std::min(kLeastWindow, most);
  const std::size_t carried = std::exchange(acked_bytes_, 0) / 4;
  if (!std::exchange(waited_, false)) return;
  window_ = std::clamp(std::clamp(carried, window_ / 2, 2 * window_), least, most);
}

bool ClusterOutbox::is_idle() const {
  return queued_ == 0 && unacked_.empty();
}

Result<std::optional<ClusterMessage>> ClusterInbox::take(ClusterMessage message) {
  if (const auto* fragment = std::get_if<ClusterFragment>(&message)) return take_fragment(*fragment);
  return std::optional<ClusterMessage>(std::move(message));
}

Result<std::optional<ClusterMessage>> ClusterInbox::take_fragment(const ClusterFragment& fragment) {
  const std::size_t most = joined_ ? limits_.max_total_bytes : limits_.max_join_bytes;
  if (!fragment.bytes || fragment.total > most) {
    return invalid("a fragment is empty, or of a message that is larger than " + std::to_string(most) +
                   " bytes");
  }
  const auto known = streams_.find(fragment.stream);
  if (known == streams_.end() && streams_.size() >= (joined_ ? limits_.max_streams : 1))
    return invalid("too many messages come in fragments at once");
  Partial& partial = known == streams_.end() ? streams_[fragment.stream] : known->second;
  const std::size_t size = fragment.bytes->size();
  if (fragment.offset != partial.size_bytes || size > fragment.total - fragment.offset)
    return invalid("a fragment does not follow the one before it");
  partial.pieces.push_back(fragment.bytes);
  partial.size_bytes += size;
  ++unacked_;
  ++fragments_;
  if (partial.size_bytes < fragment.total) return std::optional<ClusterMessage>();
  Partial complete = std::move(partial);
  streams_.erase(fragment.stream);
  auto message = decode_cluster_message(joined(std::move(complete.pieces)), limits_.wire);
  if (!message) return tl::unexpected<Error>(std::move(message).error());
  if (std::holds_alternative<ClusterFragment>(*message)) return invalid("a fragment holds a fragment");
  return std::optional<ClusterMessage>(std::move(*message));
}

std::uint32_t ClusterInbox::take_acks() {
  return std::exchange(unacked_, 0);
}

}  // namespace volvox
