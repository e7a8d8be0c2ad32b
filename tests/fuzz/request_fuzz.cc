// A request's two frames, from a stranger: each is refused by a typed error, or becomes a value that is fit
// for use and means the same after it has been written and read once more.

#include <cstddef>
#include <cstdint>

#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

const WireLimits kLimits;

bool same(Bytes a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void check_header(Bytes bytes) {
  std::uint64_t id = 0;
  const auto header = decode_request_header(bytes, kLimits, &id);
  if (!header) return require_refusal(header.error());
  require(id == header->request_id, "a header that is accepted tells its request");
  require(id != 0 || header->kind == RequestKind::kPing, "only a ping needs no number");
  const auto written = encode_request_header(*header, kLimits);
  require(written.has_value(), "a header that was read can be written");
  const auto again = decode_request_header(written->bytes(), kLimits);
  require(again && *again == *header, "a header means the same when it is read again");
}

void check_structure(const Structure& structure) {
  if (const auto* lattice = std::get_if<LatticeStructure>(&structure)) {
    touch(std::as_bytes(lattice->starts));
    touch(std::as_bytes(lattice->ends));
  }
  if (const auto* sequences = std::get_if<SequencesStructure>(&structure)) {
    require(sequences->names.size() == sequences->lengths.size(), "each sequence has a length");
    for (const std::int32_t length : sequences->lengths) require(length >= 1, "a sequence has steps");
  }
  const auto* graph = std::get_if<GraphStructure>(&structure);
  for (std::size_t node = 0; graph != nullptr && node < graph->type_of.size(); ++node) {
    require(static_cast<std::size_t>(graph->type_of[node]) < graph->cell_types.size(), "a node has a type");
    for (auto edge = graph->offsets[node]; edge < graph->offsets[node + 1]; ++edge) {
      require(static_cast<std::size_t>(graph->predecessors[static_cast<std::size_t>(edge)]) < node,
              "a node follows smaller ones");
    }
  }
}

void check_body(Bytes bytes) {
  const auto body = decode_request_body(bytes, kLimits);
  if (!body) return require_refusal(body.error());
  check_structure(body->structure);
  for (const WireTensor& input : body->inputs) {
    require(input.bytes.size() == tensor_bytes(input.type, input.shape), "a tensor has its shape's bytes");
    touch(input.bytes);
  }
  const auto written = encode_request_body(*body, kLimits);
  require(written.has_value(), "a body that was read can be written");
  const auto again = decode_request_body(written->bytes(), kLimits);
  require(again.has_value(), "a body that was written can be read");
  const auto rewritten = encode_request_body(*again, kLimits);
  require(rewritten && same(rewritten->bytes(), written->bytes()),
          "a body means the same when it is read again");
}

void check_bundle(Bytes bytes) {
  const auto bundle = read_request_bundle(WireBuffer::share_copy_of(bytes), kLimits);
  if (!bundle) return require_refusal(bundle.error());
  require(bundle->parts() > 0 && bundle->parts() <= kLimits.max_bundle_parts, "a bundle has parts");
  std::uint64_t steps = 0;
  for (std::size_t part = 0; part < bundle->parts(); ++part) {
    steps += bundle->lengths[part];
    const auto token = bundle->tokens.asked(part);
    if (!token) require_refusal(token.error());
  }
  for (const WireTensor& input : bundle->inputs) {
    require(static_cast<std::uint64_t>(input.shape[0]) == steps, "each step has its row");
    require(input.bytes.size() == tensor_bytes(input.type, input.shape), "a tensor has its shape's bytes");
    touch(input.bytes);
  }
  const auto written = encode_request_bundle(*bundle, kLimits);
  require(written.has_value(), "a bundle that was read can be written");
  const auto again = read_request_bundle(WireBuffer::share_copy_of(written->bytes()), kLimits);
  require(again.has_value(), "a bundle that was written can be read");
  const auto rewritten = encode_request_bundle(*again, kLimits);
  require(rewritten && same(rewritten->bytes(), written->bytes()),
          "a bundle means the same when it is read again");
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
