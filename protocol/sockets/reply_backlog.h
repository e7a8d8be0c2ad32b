#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <unordered_map>

#include "base/time.h"
#include "protocol/sockets/outgoing_reply.h"

namespace volvox {

// A burst of answers fills the queue of a healthy connection for a moment, just as a client that has stopped
// reading fills it for ever. This keeps the replies of such clients, in order, until the connection takes
// them again, or until it has taken none for too long. Bytes are ReplyShares' affair. One thread.
class ReplyBacklog {
 public:
  // The longest time since a connection last took anything.
  explicit ReplyBacklog(Duration patience) : patience_(patience) {}

  bool empty() const { return clients_.empty(); }
  std::size_t replies() const { return replies_; }
  bool holds(const ClientId& client) const { return clients_.contains(client); }

  // Throws std::bad_alloc, and leaves the reply with its owner.
  void add(OutgoingReply&& reply, TimePoint now);

  // Tries to send: 0, or an error number; EAGAIN keeps the reply for later.
  using Send = std::function<int(OutgoingReply&)>;
  // Told of each client given up on, with the number of its replies dropped and the error number that Send
  // gave last.
  using GiveUp = std::function<void(const ClientId&, std::size_t replies, int error)>;

  // Sends what can be sent and gives up on clients that are unreachable or out of patience.
  void retry(TimePoint now, const Send& send, const GiveUp& give_up);

  // Takes a client's replies away; returns how many there were.
  std::size_t remove(const ClientId& client);

 private:
  struct Waiting {
    std::deque<OutgoingReply> replies;
    TimePoint since;  // of the last progress
  };

  int send_some(Waiting& waiting, TimePoint now, const Send& send);

  const Duration patience_;
  std::unordered_map<ClientId, Waiting> clients_;
  std::size_t replies_ = 0;
};

}  // namespace volvox
