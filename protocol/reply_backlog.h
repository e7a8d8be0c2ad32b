#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <unordered_map>

#include "base/time.h"
#include "protocol/outgoing_reply.h"

namespace volvox {

// A burst of answers fills the queue of a healthy connection for a moment, just as a client that has stopped
// reading fills it for ever. This keeps the replies of such clients, in order, until the connection takes
// them again, or until the client has used up its patience or its bytes. One thread.
class ReplyBacklog {
 public:
  // Bounds per client: bytes kept, and time since its connection last took anything; and on the bytes kept
  // for all clients.
  ReplyBacklog(std::size_t max_bytes, Duration patience, std::size_t max_bytes_in_all)
      : max_bytes_(max_bytes), patience_(patience), max_bytes_in_all_(max_bytes_in_all) {}

  bool empty() const { return clients_.empty(); }
  std::size_t replies() const { return replies_; }
  std::size_t bytes() const { return bytes_; }
  bool holds(const ClientId& client) const { return clients_.contains(client); }

  // False, and `reply` is unchanged, if the client's bytes are used up, or those of all.
  bool add(OutgoingReply&& reply, TimePoint now);

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
    std::size_t bytes = 0;
    TimePoint since;  // of the last progress
  };

  int send_some(Waiting& waiting, TimePoint now, const Send& send);

  const std::size_t max_bytes_;
  const Duration patience_;
  const std::size_t max_bytes_in_all_;
  std::unordered_map<ClientId, Waiting> clients_;
  std::size_t replies_ = 0, bytes_ = 0;
};

}  // namespace volvox
