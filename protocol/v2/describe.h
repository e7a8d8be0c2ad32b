#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/tensor.h"

namespace volvox {

// What the Open Inference Protocol tells of a server and its models, as JSON. Pure.

// Answer to /v2.
std::string v2_server_metadata(std::string_view name, std::string_view version);

struct V2TensorMetadata {
  std::string name;
  WireType type = WireType::kF32;
  std::vector<std::int64_t> shape;  // −1: any size
};
struct V2ModelMetadata {
  std::string name;
  std::vector<std::uint32_t> versions;
  std::vector<V2TensorMetadata> inputs, outputs;
};
// Answer to /v2/models/M.
std::string v2_model_metadata(const V2ModelMetadata& model);

// How often, and for how long in all.
struct V2Duration {
  std::uint64_t count = 0, ns = 0;
};
struct V2Statistics {
  std::string name;
  std::uint32_t version = 0;
  std::uint64_t last_inference_ms = 0;       // since 1970; 0: none yet
  std::uint64_t executions = 0;              // batched tasks
  V2Duration success, fail, queue, compute;  // queue and compute: of those that succeeded
};
// Answer to /v2/models/M/stats, in the form of the statistics extension.
std::string v2_statistics(const V2Statistics& statistics);

// Answer to the questions of health.
std::string v2_live_content();
std::string v2_ready_content(bool ready);
std::string v2_model_ready_content(std::string_view name, bool ready);

}  // namespace volvox
