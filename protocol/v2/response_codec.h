#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "protocol/messages.h"
#include "protocol/v2/request_codec.h"

namespace volvox {

// What a request of the Open Inference Protocol is answered with.
struct V2Answer {
  std::string_view model;
  std::uint32_t version = 0;
  std::string_view id;  // the client's; empty: none
  std::span<const WireTensor> outputs;
  std::uint32_t cells = 0;
  WireTimings timings;
};

struct V2Content {
  std::string bytes;           // the JSON, and after it the binary outputs
  std::size_t json_bytes = 0;  // where these begin
  bool binary = false;         // whether there are any
};

// The most bytes that encoding the answer can take: more than it will, so that memory is asked for before it
// is spent.
std::size_t v2_answer_bound(const V2Answer& answer, const V2Wishes& wishes);

// The content of the answer, each output in the form that was wished for. Numbers in JSON read back to the
// same bits. INVALID_ARGUMENT for an output that JSON cannot carry: a NaN, an infinity, or a 16-bit type. Any
// thread.
Result<V2Content> encode_v2_answer(const V2Answer& answer, const V2Wishes& wishes);

// {"error": "…"}, with text that is not clean replaced.
std::string v2_error_content(std::string_view message);

}  // namespace volvox
