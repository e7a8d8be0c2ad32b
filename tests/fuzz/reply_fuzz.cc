// A reply's two frames, from a server that a client need not trust: as request_fuzz.cc.

#include <cstddef>
#include <cstdint>

#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"
#include "protocol/text.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

const WireLimits kLimits;

void check_header(Bytes bytes) {
  std::uint64_t id = 0;
  const auto header = decode_reply_header(bytes, kLimits, &id);
  if (!header) return require_refusal(header.error());
  require(id == header->request_id, "a header that is accepted tells its request");
  require(is_clean_text(header->error.message), "the text of an error may be printed");
  const auto written = encode_reply_header(*header, kLimits);
  require(written.has_value(), "a header that was read can be written");
  const auto again = decode_reply_header(written->bytes(), kLimits);
  require(again && *again == *header, "a header means the same when it is read again");
}

void check_body(Bytes bytes) {
  const auto body = decode_reply_body(bytes, kLimits);
  if (!body) return require_refusal(body.error());
  for (const WireTensor& output : body->outputs) {
    require(output.bytes.size() == tensor_bytes(output.type, output.shape), "a tensor has its shape's bytes");
    require(body->find(output.name) == &output, "an output is found by its name");
    touch(output.bytes);
  }
  const auto written = encode_reply_body(body->outputs, kLimits);
  require(written.has_value(), "a body that was read can be written");
  const auto again = decode_reply_body(written->bytes(), kLimits);
  require(again && again->outputs.size() == body->outputs.size(), "a body that was written can be read");
}

void check_bundle(Bytes bytes) {
  const auto bundle = read_reply_bundle(WireBuffer::share_copy_of(bytes), kLimits);
  if (!bundle) return require_refusal(bundle.error());
  BundleReply reply;
  reply.body = *bundle;
  const std::vector<Reply> parts = reply.split();
  require(parts.size() == bundle->done.size() + bundle->errors.size(), "each answer is that of a part");
  for (const Reply& part : parts) {
    require(is_clean_text(part.header.error.message), "the text of an error may be printed");
    for (const WireTensor& output : part.body.outputs) {
      require(output.bytes.size() == tensor_bytes(output.type, output.shape),
              "a tensor has its shape's bytes");
      touch(output.bytes);
    }
  }
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [header, body] = volvox::fuzz::split(data, size);
  volvox::fuzz::check_header(header);
  volvox::fuzz::check_body(body);
  volvox::fuzz::check_bundle(body);
  return 0;
}
