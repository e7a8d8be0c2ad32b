#pragma once

#include <cstdint>
#include <string>

#include "protocol/cluster/cluster_flow.h"

namespace volvox::test {

// So small that a few thousand bytes are a large message.
inline ClusterFlowLimits small_limits() {
  ClusterFlowLimits limits;
  limits.max_message_bytes = 1024;
  limits.max_small_bytes = 1024;
  limits.max_unacked_bytes = 3072;  // four fragments
  limits.max_total_bytes = 20'000;
  limits.max_queued_bytes = 60'000;
  return limits;
}

inline std::shared_ptr<const WireBuffer> body_of(std::uint32_t number, std::size_t size) {
  const std::string body(size, static_cast<char>('a' + number % 26));
  return WireBuffer::share_copy_of(std::as_bytes(std::span(body)));
}

inline ClusterResult result(std::uint32_t number, std::size_t size) {
  return {{number, 0, 1}, true, nullptr, body_of(number, size)};
}

}  // namespace volvox::test
