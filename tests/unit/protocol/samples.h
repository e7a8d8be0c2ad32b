#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace volvox::test {

// Those of a server that nobody configured.
inline const WireLimits kLimits;

// A header with every field set to a value of its own.
inline RequestHeader full_request_header() {
  RequestHeader header;
  header.kind = RequestKind::kInfer;
  header.priority = WirePriority::kLow;
  header.request_id = 0x0102030405060708;
  header.model = "translation/größer";
  header.model_version = 7;
  header.cells_hint = 330;
  header.deadline_us = 123456789012;
  header.trace_hi = 0xffffffffffffffff;
  header.trace_lo = 0x8000000000000001;
  header.stream = true;
  header.stream_from = 0x80000001;
  header.session =
      WireSessionToken{11, 12, 13, SessionOperation::kContinue, 14, 15, 16, 17, 18, "node-a", "node-b", 19};
  return header;
}

inline ReplyHeader full_reply_header() {
  ReplyHeader header;
  header.kind = ReplyKind::kError;
  header.final = true;
  header.request_id = 99;
  header.index = 4;
  header.cells = 24;
  header.model_version = 0xFFFFFFFD;
  header.error = {ErrorCode::kOverloaded, "the queue is full; try again later"};
  header.retry_after_us = 2500;
  header.undecided = true;
  header.timings = {10, 20, 35};
  header.server = "node-a";
  header.session = full_request_header().session;
  return header;
}

inline std::vector<std::int32_t> sample_tokens(std::size_t count = 24) {
  std::vector<std::int32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<std::int32_t>(i * 1237 % 30000);
  return tokens;
}

// A chain over `tokens`, which must outlive it.
inline RequestBody chain_body(std::span<const std::int32_t> tokens) {
  RequestBody body;
  body.structure = ChainStructure{static_cast<std::uint32_t>(tokens.size())};
  body.inputs.push_back(wire_tensor("token", tokens));
  body.outputs = {"h"};
  return body;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace volvox::test
