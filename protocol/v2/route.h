#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace volvox {

// What a path of the Open Inference Protocol asks for.
enum class V2Endpoint : std::uint8_t {
  kServer,      // /v2
  kLive,        // /v2/health/live
  kReady,       // /v2/health/ready
  kModel,       // /v2/models/M[/versions/V]
  kModelReady,  // …/ready
  kInfer,       // …/infer, the only one that is POSTed to
  kStatistics,  // …/stats
};

struct V2Route {
  V2Endpoint endpoint{};
  std::string model;          // as in the path, unchecked
  std::uint32_t version = 0;  // 0: none given, the newest

  bool operator==(const V2Route&) const = default;
};

// Reads a path that was URL-decoded, without its query. MODEL_NOT_FOUND for a path that there is not,
// INVALID_ARGUMENT for a version that is no number from 1 on. Pure.
Result<V2Route> parse_v2_route(std::string_view path);

}  // namespace volvox
