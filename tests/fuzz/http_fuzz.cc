// The content of a request over HTTP, from a stranger: JSON, and the binary inputs that follow it. Refused by
// a typed error, or a body that the house's own decoder reads.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/codec.h"
#include "protocol/v2/request_codec.h"
#include "protocol/v2/route.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

// Small ones, so that what breaks a limit is found.
WireLimits limits() {
  WireLimits limits;
  limits.max_tensors = 4;
  limits.max_nodes = 64;
  limits.max_edges = 64;
  limits.max_body_bytes = 4096;
  return limits;
}

void check_content(Bytes content, std::optional<std::size_t> json_bytes) {
  const auto request = decode_v2_request(content, json_bytes, limits());
  if (!request) return require_refusal(request.error());
  for (const WireTensor& input : request->body.inputs) {
    require(input.bytes.size() == tensor_bytes(input.type, input.shape), "a tensor has its shape's bytes");
    touch(input.bytes);
  }
  require(request->sequence.id.empty() ? !request->sequence.start && !request->sequence.end : true,
          "what starts or ends has an id");
  const auto written = encode_request_body(request->body, limits());
  if (!written) return require_refusal(written.error());
  require(decode_request_body(written->bytes(), limits()).has_value(), "a body that was written can be read");
}

void check_path(Bytes bytes) {
  const auto route = parse_v2_route({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!route) require(!route.error().message.empty(), "a refusal says why");
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox::fuzz;
  const auto [json, tail] = split(data, size);
  const Bytes content{json.data(), json.size() + tail.size()};
  check_content(content, json.size());
  check_content(json, std::nullopt);
  check_path(tail);
  return 0;
}
