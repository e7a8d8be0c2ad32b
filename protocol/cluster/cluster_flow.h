#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "protocol/buffer.h"
#include "protocol/cluster/cluster_codec.h"
#include "protocol/limits.h"

namespace volvox {

// All that two processes of a cluster say to each other shares one stream of bytes. A large request in it
// would hold up every small one behind it, and the pings: a busy peer would be taken for a dead one. So what
// is not small is sent in fragments, of which few bytes are under way, and control goes first. What concerns
// one request keeps its order.

struct ClusterFlowLimits {
  WireLimits wire;
  std::size_t max_message_bytes = kMaxClusterMessageBytes;  // of what is sent at once, if the peer takes it
  std::size_t max_small_bytes = 8U << 10;                   // of a message that need not be acknowledged
  std::size_t max_total_bytes = 17U << 20;                  // of a message in fragments
  std::size_t max_join_bytes = 2U << 20;                    // of one from somebody who has not joined
  std::size_t max_queued_bytes = 256U << 20;  // waiting to be sent, beyond which nothing new is begun
  std::size_t max_unacked_bytes = 1U << 20;   // in fragments under way to the peer
  std::uint32_t max_streams = 64;             // messages in fragments at the same time
};
// Says which limit makes no sense, and why.
Status check(const ClusterFlowLimits& limits);

// What waits to be sent to one peer. Pure; one thread at a time.
class ClusterOutbox {
 public:
  using Encode = Result<ClusterPieces> (*)(const ClusterMessage&, const WireLimits&, LinkGeneration);

  // All that it sends belongs to this life of the link.
  explicit ClusterOutbox(const ClusterFlowLimits& limits, LinkGeneration generation = 0,
                         Encode encode = &encode_cluster_message)
      : limits_(limits),
        generation_(generation),
        encode_(encode),
        message_bytes_(std::min(kLeastMessage, limits.max_message_bytes)),
        window_(std::min(kLeastWindow, limits.max_unacked_bytes)) {}

  // OVERLOADED: too much waits to be sent, and this would begin something new, a request. Whatever else there
  // is to say has been asked for by the peer, and is bounded by what it asked: it waits for its turn.
  // INVALID_ARGUMENT: the message is too large, or cannot be encoded.
  Status push(const ClusterMessage& message);
  // Goes when all else has been sent, and what went in fragments was acknowledged.
  Status push_last(const ClusterMessage& message);
  // The next message to send, if one may be sent now: control before all, then small ones and fragments of
  // large ones by turns, large ones among themselves by turns. Nothing as well when memory is short: what
  // waits is kept for the next call.
  std::optional<ClusterPieces> next();
  // What the peer takes at once; until it has said so, what every version does.
  void peer_takes(std::size_t message_bytes);
  // The peer took in so many fragments.
  void acked(std::uint32_t fragments);
  // A report's time has passed. What waited for acknowledgements in it has shown how much the link carries in
  // such a time: a quarter of that is under way from now on, so that pings and small messages do not wait for
  // longer behind it.
  void tick();

  std::size_t queued_bytes() const { return queued_; }
  // The peer reads too slowly: begin nothing new for it.
  bool is_full() const { return queued_ >= limits_.max_queued_bytes; }
  // All has been sent, and is with the peer as far as it says so.
  bool is_idle() const;

 private:
  // Whose messages keep their order: a request's, or one message's alone.
  using Topic = std::pair<std::uint64_t, std::uint64_t>;
  struct Stream {
    std::uint64_t id = 0;
    std::size_t sent = 0;
    Topic topic{};
  };

  static constexpr std::size_t kLeastWindow = 64U << 10, kLeastMessage = 64U << 10;

  Result<ClusterPieces> encode(const ClusterMessage& message) const;
  std::size_t fragment_bytes() const;
  Topic topic_of(const ClusterMessage& message);
  ClusterPieces take(std::deque<ClusterPieces>& queue);
  void open_streams();
  ClusterBytes next_bytes(const ClusterPieces& whole, std::size_t sent) const;
  std::optional<ClusterPieces> next_fragment();

  ClusterFlowLimits limits_;
  LinkGeneration generation_;
  Encode encode_;
  std::size_t message_bytes_;  // of what is sent at once
  std::deque<ClusterPieces> control_, small_, last_;
  std::map<Topic, std::deque<ClusterPieces>> large_;  // what goes in fragments, and what must come after it
  std::deque<Topic> waiting_;                         // of large_: whose turn is to come
  std::deque<Stream> streams_;                        // … and whose is now
  std::size_t queued_ = 0;
  std::uint64_t opened_ = 0, topics_ = 0;
  std::deque<std::size_t> unacked_;  // the sizes of fragments under way, the oldest first
  std::size_t unacked_bytes_ = 0;
  std::size_t window_;           // of unacked_bytes_
  std::size_t acked_bytes_ = 0;  // since the last tick()
  bool waited_ = false;          // … for an acknowledgement
  bool fragments_turn_ = false;
};

// Puts together what came from one peer. An error means that the peer does not keep to the protocol: close
// the link. Memory grows with what has arrived, not with what is announced. Pure; one thread at a time.
class ClusterInbox {
 public:
  // From somebody who has not joined it takes one message at a time, and no large one.
  explicit ClusterInbox(const ClusterFlowLimits& limits, bool joined = true)
      : limits_(limits), joined_(joined) {}

  void join() { joined_ = true; }

  // Takes in one message. What it says, or completes; nothing when more fragments are needed.
  Result<std::optional<ClusterMessage>> take(ClusterMessage message);
  // Fragments that came since the last call; to be told to the peer when not 0.
  std::uint32_t take_acks();
  // All that ever came.
  std::uint64_t fragments() const { return fragments_; }

 private:
  Result<std::optional<ClusterMessage>> take_fragment(const ClusterFragment& fragment);

  ClusterFlowLimits limits_;
  bool joined_;
  // A message that is not whole yet: its fragments, as they came.
  struct Partial {
    std::vector<ClusterBytes> pieces;
    std::size_t size_bytes = 0;
  };

  std::map<std::uint64_t, Partial> streams_;
  std::uint32_t unacked_ = 0;
  std::uint64_t fragments_ = 0;
};

}  // namespace volvox
