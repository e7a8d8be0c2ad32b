#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace volvox {

// A peer may send anything. Whatever is decoded is bounded by these numbers first, so that no message,
// however it was made, costs more memory or time than its own bytes justify. The configuration fills them;
// both sides of a connection apply them, so that a client learns of a violation before it sends.
struct WireLimits {
  std::size_t max_header_bytes = 4096;
  std::size_t max_body_bytes = std::size_t{16} << 20;
  std::uint32_t max_tensors = 64;         // inputs of a request, outputs of a reply, names of wanted outputs
  std::uint32_t max_name_bytes = 128;     // of a model, tensor, cell type, cluster node
  std::uint32_t max_rank = 8;             // at most WireShape::kMaxRank
  std::uint32_t max_nodes = 1U << 20;     // of a structure: chain length, tree nodes, …
  std::uint32_t max_edges = 1U << 22;     // of a structure: lattice words, graph predecessors
  std::uint32_t max_bundle_parts = 8192;  // of one bundle
  std::uint64_t traversal_words = 1ULL << 22;  // 8-byte words a decoder may visit in one message
  std::uint32_t nesting = 16;                  // depth of pointers within one message

  bool operator==(const WireLimits&) const = default;
};

// Says which limit makes no sense (zero, beyond what the wire can carry, or smaller than another one needs),
// and why.
Status check_limits(const WireLimits& limits);

// Text of an error message beyond this many bytes is cut by the sender.
inline constexpr std::size_t kMaxErrorTextBytes = 1024;

}  // namespace volvox
