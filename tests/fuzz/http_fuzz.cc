// The content of a request over HTTP, from a stranger: JSON, and the binary inputs that follow it. Refused by
// a typed error, or a body that the house's own decoder reads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/codec/codec.h"
#include "protocol/codec/packed_body.h"
#include "protocol/v2/request_codec.h"
#include "protocol/v2/route.h"
#include "serving/http_head.h"
#include "serving/http_rules.h"
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
  const auto packed = pack_request_body(request->body, limits());
  require(written.has_value() == packed.has_value(), "what can be sent can be kept");
  if (!written) return require_refusal(written.error());
  const auto kept = encode_request_body(*packed, limits());
  require(kept && std::ranges::equal(kept->bytes(), written->bytes()), "what is kept says the same");
  require(decode_request_body(written->bytes(), limits()).has_value(), "a body that was written can be read");
}

void check_path(Bytes bytes) {
  const auto route = parse_v2_route({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!route) require(!route.error().message.empty(), "a refusal says why");
}

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// What a door looks at before it lets a request in.
void check_head(Bytes bytes) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const auto end = http_head_bytes(text);
  if (!end) return;
  require(*end <= text.size(), "a head ends where the bytes do, or before");
  const auto head = parse_http_head(text.substr(0, *end));
  if (!head) return require_refusal(head.error());
  require(lies_in(head->path, text) && head->path.starts_with('/'), "a path lies in what was sent");
  HttpRuleSettings settings;
  settings.listen_host = "127.0.0.1";
  settings.tokens = {"0123456789abcdef"};
  const HttpRules rules(settings);
  const auto sender = rules.check_sender(head->headers), content = rules.check_content(head->headers);
  for (const auto& refused : {sender, content})
    require(!refused || !refused->error.message.empty(), "it says why");
  const bool shown = text.find("0123456789abcdef") != std::string_view::npos;
  require(shown || rules.check_token(head->headers), "nobody comes in without the token");
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
  check_head(content);
  return 0;
}
