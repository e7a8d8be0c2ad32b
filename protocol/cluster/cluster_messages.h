#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "protocol/buffer.h"
#include "protocol/cluster/cluster_version.h"
#include "protocol/tensor.h"

namespace volvox {

// What routers and nodes of a cluster say to each other, as plain values; protocol/cluster.capnp says what
// each field means.

// An input or output of a model. −1 in the shape: any size.
struct ClusterTensor {
  std::string name;
  WireType type = WireType::kF32;
  std::vector<std::int64_t> shape;
  bool operator==(const ClusterTensor&) const = default;
};

struct ClusterOffer {
  std::string model;
  std::uint32_t version = 0;
  std::uint64_t digest = 0, cell_ns = 0;
  std::uint32_t cells = 1;
  std::vector<ClusterTensor> inputs{}, outputs{};
  std::uint32_t max_cells = 0;
  bool operator==(const ClusterOffer&) const = default;
};

// The largest message that this program takes in one piece; it says so as it joins, or is joined.
inline constexpr std::uint32_t kMaxClusterMessageBytes = 256U << 10;

struct ClusterJoin {
  std::string cluster, name;
  std::uint64_t incarnation = 0;
  std::uint16_t version = cluster_versions().best, oldest_version = cluster_versions().oldest;
  std::vector<ClusterOffer> offers;
  std::uint32_t list = 0;
  std::uint64_t request_limit = 0, request_window = 0, byte_limit = 0, byte_window = 0;
  std::uint32_t message_bytes = kMaxClusterMessageBytes;
  bool operator==(const ClusterJoin&) const = default;
};

struct ClusterOffers {
  std::uint32_t list = 0;
  std::vector<ClusterOffer> offers;
  bool operator==(const ClusterOffers&) const = default;
};

struct ClusterJoinReply {
  bool accepted = false;
  Error error;  // meaningful when it was not
  std::string name;
  std::uint64_t incarnation = 0;
  std::uint16_t version = cluster_versions().best, oldest_version = cluster_versions().oldest;
  std::uint32_t message_bytes = kMaxClusterMessageBytes;
  bool operator==(const ClusterJoinReply&) const = default;
};

struct ClusterPing {
  std::int64_t ping = 0;
  std::uint64_t wanted_requests = 0, wanted_bytes = 0, returned_requests = 0, returned_bytes = 0;
  std::uint32_t list = 0;
  bool operator==(const ClusterPing&) const = default;
};

struct ClusterReport {
  std::int64_t echo = -1;
  std::uint64_t work_ns = 0, wait_ns = 0;
  std::uint32_t rows = 0, full_rows = 0;
  std::uint64_t request_limit = 0, request_window = 0, byte_limit = 0, byte_window = 0;
  std::vector<std::uint64_t> cell_ns;
  std::uint32_t list = 0;
  std::vector<std::uint64_t> waits_ns{};
  bool operator==(const ClusterReport&) const = default;
};

struct ClusterAttempt {
  std::uint32_t index = 0, generation = 0, number = 0;
  bool operator==(const ClusterAttempt&) const = default;
};

// Bytes that may be shared with whoever holds the request; null is empty.
using ClusterBytes = std::shared_ptr<const WireBuffer>;

// One after the other, in one piece. Each goes as soon as it is copied, so that what is large is not held
// twice. None is null.
ClusterBytes joined(std::vector<ClusterBytes> pieces);

// The bytes of a message as they are sent: the head's, then the tail's, which are somebody's that nobody
// copied.
struct ClusterPieces {
  ClusterBytes head;  // null: none at all
  ClusterBytes tail;  // null: none

  std::size_t size() const { return (head ? head->size() : 0) + (tail ? tail->size() : 0); }
  // In one piece; a copy where there is a tail.
  ClusterBytes whole() const { return tail ? joined({head, tail}) : head; }
};

struct ClusterSubmit {
  ClusterAttempt attempt;
  std::uint64_t deadline_us = 0;
  ClusterBytes header, body;
  std::string account{};  // the name of the client's key, as the router knows it; empty: none was asked for
  std::uint64_t connection = 0;  // stands for the client's connection; 0: an older router, or none
  std::uint32_t version = 0;     // of the model, where the header leaves it open; 0: an older router
};
struct ClusterCancel {
  ClusterAttempt attempt;
  ErrorCode why = ErrorCode::kCancelled;  // or DEADLINE_EXCEEDED
  bool operator==(const ClusterCancel&) const = default;
};
struct ClusterResult {
  ClusterAttempt attempt;
  bool final = true;
  ClusterBytes header, body;
};
struct ClusterDrain {
  std::string why;
  bool operator==(const ClusterDrain&) const = default;
};
struct ClusterLeave {
  std::string why;
  bool operator==(const ClusterLeave&) const = default;
};
struct ClusterRejoin {
  std::string why;
  bool operator==(const ClusterRejoin&) const = default;
};
struct ClusterFragment {
  std::uint64_t stream = 0, offset = 0, total = 0;
  ClusterBytes bytes;
};
struct ClusterAck {
  std::uint32_t fragments = 0;
  bool operator==(const ClusterAck&) const = default;
};
// Of a kind that this build does not know: a newer peer sent it. To be skipped.
struct ClusterUnknown {
  std::uint16_t kind = 0;
};

using ClusterMessage = std::variant<ClusterUnknown, ClusterJoin, ClusterJoinReply, ClusterPing, ClusterReport,
                                    ClusterSubmit, ClusterCancel, ClusterResult, ClusterDrain, ClusterLeave,
                                    ClusterRejoin, ClusterFragment, ClusterAck, ClusterOffers>;

// Which of a link's lives a message belongs to; 0: its sender knows of none.
using LinkGeneration = std::uint32_t;

struct ClusterEnvelope {
  LinkGeneration generation = 0;
  ClusterMessage message;
};

// Whether these two sides understand each other: each speaks a version that the other still does.
// UNSUPPORTED_VERSION names who must be upgraded.
Status check_versions(const std::string& peer, std::uint16_t version, std::uint16_t oldest_version);

}  // namespace volvox
