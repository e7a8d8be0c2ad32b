#include "protocol/reply_backlog.h"

#include <cerrno>
#include <utility>

namespace volvox {

bool ReplyBacklog::add(OutgoingReply&& reply, TimePoint now) {
  const std::size_t bytes = reply.bytes();
  // One reply is kept however large it is.
  if (replies_ > 0 && bytes_ + bytes > max_bytes_in_all_) return false;
  const auto [at, fresh] = clients_.try_emplace(reply.client);
  Waiting& waiting = at->second;
  if (fresh) waiting.since = now;
  if (!fresh && waiting.bytes + bytes > max_bytes_) return false;
  waiting.bytes += bytes;
  bytes_ += bytes;
  waiting.replies.push_back(std::move(reply));
  ++replies_;
  return true;
}

void ReplyBacklog::retry(TimePoint now, const Send& send, const GiveUp& give_up) {
  for (auto at = clients_.begin(); at != clients_.end();) {
    Waiting& waiting = at->second;
    const int error = send_some(waiting, now, send);
    const bool hopeless = error != 0 && (error != EAGAIN || now - waiting.since >= patience_);
    if (error != 0 && !hopeless) {
      ++at;
      continue;
    }
    const std::size_t left = waiting.replies.size();
    replies_ -= left;
    bytes_ -= waiting.bytes;
    const ClientId client = at->first;
    at = clients_.erase(at);
    if (left > 0) give_up(client, left, error);
  }
}

int ReplyBacklog::send_some(Waiting& waiting, TimePoint now, const Send& send) {
  while (!waiting.replies.empty()) {
    OutgoingReply& reply = waiting.replies.front();
    const std::size_t bytes = reply.bytes();
    if (const int error = send(reply); error != 0) return error;
    waiting.bytes -= bytes;
    bytes_ -= bytes;
    waiting.since = now;
    waiting.replies.pop_front();
    --replies_;
  }
  return 0;
}

std::size_t ReplyBacklog::remove(const ClientId& client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return 0;
  const std::size_t count = found->second.replies.size();
  bytes_ -= found->second.bytes;
  clients_.erase(found);
  replies_ -= count;
  return count;
}

}  // namespace volvox
