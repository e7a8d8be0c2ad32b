#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"
#include "protocol/cluster/cluster_flow.h"

namespace volvox {

enum class LinkEnd : std::uint8_t { kDials, kAnswers };

// One end of a link between two processes of a cluster. The connection below may outlive what its ends think
// of each other: one of them takes the other for dead, forgets what was under way, and finds it again over
// the same connection. So a link has lives, counted by its generation: the end that dials begins a new one at
// each join, the other follows, and both then know of nothing that was under way before: what of it still
// comes is dropped. An end of version 1 knows of no generations; towards it a link has one life.
//
// Pure; one thread at a time.
class ClusterLink {
 public:
  ClusterLink(LinkEnd end, const ClusterFlowLimits& limits);

  // Of the end that dials: a new life. Generations go up, and are never 0.
  void begin(LinkGeneration generation);
  // Of the end that answers: the other one has joined. Until then it may say one thing at a time, and nothing
  // large.
  void let_in();
  LinkGeneration generation() const { return generation_; }
  // Whether it has, in this life.
  bool is_in() const { return in_; }

  // As ClusterOutbox.
  Status push(const ClusterMessage& message) { return outbox_.push(message); }
  Status push_last(const ClusterMessage& message) { return outbox_.push_last(message); }
  std::optional<ClusterPieces> next() { return outbox_.next(); }
  void tick() { outbox_.tick(); }
  std::size_t queued_bytes() const { return outbox_.queued_bytes(); }
  bool is_full() const { return outbox_.is_full(); }
  bool is_idle() const { return outbox_.is_idle(); }

  // Takes in what came. What it says, or completes; nothing when more must come first, when it is of another
  // life, or when it was for the link itself: then there may be more to send. An error: as ClusterInbox.
  Result<std::optional<ClusterMessage>> take(const ClusterBytes& bytes);
  // Fragments taken in, in this life. One that is sent again and again hears this end: few are under way
  // without its word.
  std::uint64_t fragments() const { return inbox_.fragments(); }

 private:
  void renew(LinkGeneration generation, bool in);
  bool follow(LinkGeneration generation);
  void note(const ClusterMessage& said);

  LinkEnd end_;
  ClusterFlowLimits limits_;
  LinkGeneration generation_ = 0;
  bool in_;
  ClusterOutbox outbox_;
  ClusterInbox inbox_;
};

}  // namespace volvox
