#include "protocol/sockets/reply_backlog.h"

#include <cerrno>
#include <utility>

namespace volvox {

void ReplyBacklog::add(OutgoingReply&& reply, TimePoint now) {
  const auto [at, fresh] = clients_.try_emplace(reply.client);
  if (fresh) at->second.since = now;
  at->second.replies.push_back(std::move(reply));
  ++replies_;
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
    const auto gone = clients_.extract(at++);
    if (left > 0) give_up(gone.key(), left, error);
  }
}

int ReplyBacklog::send_some(Waiting& waiting, TimePoint now, const Send& send) {
  while (!waiting.replies.empty()) {
    if (const int error = send(waiting.replies.front()); error != 0) return error;
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
  clients_.erase(found);
  replies_ -= count;
  return count;
}

}  // namespace volvox
