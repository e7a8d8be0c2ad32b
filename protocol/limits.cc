#include "protocol/limits.h"

#include <string>

#include "config/wire_bounds.h"
#include "protocol/messages.h"

namespace volvox {
namespace {

Status within(const char* name, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return invalid(std::string(name) + " is " + std::to_string(value) + "; it must be between " +
                 std::to_string(low) + " and " + std::to_string(high));
}

}  // namespace

Status check_limits(const WireLimits& limits) {
  const std::uint64_t names = limits.max_name_bytes;
  const std::uint64_t header_floor = WireBounds::least_header_bytes(names);
  static_assert(WireBounds::least_header_bytes(0) >= 256 + kMaxErrorTextBytes);
  struct Rule {
    const char* name;
    std::uint64_t value, low, high;
  };
  const Rule rules[] = {
      {"max_name_bytes", names, 1, WireBounds::kMostNameBytes},
      {"max_header_bytes", limits.max_header_bytes, header_floor, WireBounds::kMostHeaderBytes},
      {"max_body_bytes", limits.max_body_bytes, 64, WireBounds::kMostElements},
      {"max_tensors", limits.max_tensors, 1, WireBounds::kMostTensors},
      {"max_rank", limits.max_rank, 1, WireShape::kMaxRank},
      {"max_nodes", limits.max_nodes, 1, WireBounds::kMostNodes},
      {"max_edges", limits.max_edges, 1, WireBounds::kMostNodes},
      {"max_bundle_parts", limits.max_bundle_parts, 1, WireBounds::kMostBundleParts},
      {"traversal_words", limits.traversal_words, limits.max_body_bytes / 8 + 1, 1ULL << 32},
      {"nesting", limits.nesting, WireBounds::kLeastNesting, WireBounds::kMostNesting},
  };
  for (const Rule& rule : rules) {
    if (auto ok = within(rule.name, rule.value, rule.low, rule.high); !ok) return ok;
  }
  return {};
}

}  // namespace volvox
